"""The REST client of the command line: turns problem JSON into Mars's own errors, and reads pages of results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx

from api.tls import Trust, explain
from mars.errors import ConflictError, GoneError, MarsError, NotFoundError, NotReadyError, SqlError

if TYPE_CHECKING:
    import pyarrow as pa

    from api.instance.runfile import Run

ARROW = "application/vnd.apache.arrow.stream"
PAGE_ROWS = 100_000
BY_STATUS = {404: NotFoundError, 409: ConflictError, 410: GoneError, 503: NotReadyError}


class Client:
    """One API. Every refusal is raised as the MarsError that the server sent. If the API does not answer, it raises
    NotReadyError."""

    def __init__(self, url: str, token: str = "", timeout_s: float = 60.0, trust: Trust | None = None) -> None:
        self.url = url.rstrip("/")
        is_tls = self.url.lower().startswith("https:")
        self.trust = trust or (Trust.given(None) if is_tls else Trust.nobody())
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            self.http = httpx.Client(base_url=self.url, headers=headers, timeout=timeout_s, trust_env=False,
                                     verify=self.trust.context)
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise MarsError("The API's address cannot be used", f"{url}: {error}", "give it as http://host:port") from None

    @staticmethod
    def of(run: Run, token: str) -> Client:
        """A client of an instance on this machine. It trusts that instance's certificate and no other."""
        return Client(run.api, token, trust=Trust.own(run.api_certificate, run.api_name) if run.api_certificate else None)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def sql(self, statement: str, id_: str | None = None) -> dict:
        """The answer to one statement; there is no time limit. With an id, the statement can be followed and stopped."""
        body = {"sql": statement, "id": id_}
        return self._send("POST", "/v1/sql", statement, json=body, timeout=None).json()

    def cancel(self, id_: str) -> None:
        """End a running statement; its own caller gets an error."""
        self._send("DELETE", f"/v1/sql/{id_}")

    def get(self, path: str, **parameters: Any) -> Any:
        """The JSON at a path."""
        return self._send("GET", path, params=parameters).json()

    def pages(self, query: str, **parameters: Any) -> Iterator[pa.Table]:
        """All result pages of a query as Arrow tables, as of one commit."""
        import pyarrow as pa

        cursor = None
        while True:
            wanted = {"limit": PAGE_ROWS, **parameters, **({"cursor": cursor} if cursor else {})}
            answer = self._send("GET", f"/v1/queries/{quote(query, safe='')}/results", params=wanted,
                                headers={"Accept": ARROW})
            yield pa.ipc.open_stream(answer.content).read_all()
            cursor = answer.headers.get("Mars-Next")
            if not cursor:
                return

    def _send(self, method: str, path: str, sql: str = "", **options: Any) -> httpx.Response:
        extensions = {"sni_hostname": self.trust.name} if self.trust.name else {}
        try:
            answer = self.http.request(method, path, extensions=extensions, **options)
        except httpx.HTTPError as error:
            title, hint = explain(str(error), self.trust) or ("The API does not answer", self._why(error))
            raise NotReadyError(title, f"at {self.url}: {error}", hint) from None
        if answer.is_error:
            raise problem(answer, sql)
        return answer

    def _why(self, error: httpx.HTTPError) -> str:
        if isinstance(error, httpx.RemoteProtocolError) and self.url.startswith("http:"):
            return "it may use TLS: call it with https://"
        return "is it running? see `mars status`"


def problem(answer: httpx.Response, sql: str = "") -> MarsError:
    """The error in an answer; `sql` is the statement that was sent, if there was one."""
    try:
        body: dict = answer.json()
        title = body["title"]
    except (ValueError, KeyError, TypeError):
        title, body = f"The API answered {answer.status_code}", {"detail": answer.text[:500]}
    detail, hint = body.get("detail") or "", body.get("hint") or ""
    if body.get("line"):
        return SqlError(title, detail, hint, sql=sql, line=body["line"], column=body.get("column") or 1,
                        length=body.get("length") or 1)
    if answer.status_code == 401:
        hint = "set MARS_API_TOKEN to its api_token"
    return BY_STATUS.get(answer.status_code, MarsError)(title, detail, hint)
