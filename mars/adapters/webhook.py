"""Signed messages to one address over HTTP (httpx), as https://www.standardwebhooks.com describes them.

A connection goes to an address that was looked at (mars/adapters/addresses.py), while Host and TLS have the name.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import ssl
from collections.abc import Callable
from email.utils import parsedate_to_datetime

import httpx

from mars.adapters.addresses import Reach, resolve
from mars.adapters.target_errors import TargetAwayError, TargetRefusesError
from mars.model.connections import Connection
from mars.settings_checks import is_loopback

TIMEOUT_S = 10.0
PREFIX = "whsec_"  # before a key in base64; any other key is its own bytes
AGAIN = (408, 425, 429)  # what passes by waiting, beside the server's own faults
ANSWER_MAX = 200
RETRY_AFTER_MAX_S = 3_600.0


class Hook:
    """One address. TargetRefusesError if it cannot be one: messages go by TLS, except to this machine itself."""

    def __init__(self, connection: Connection, secret: Callable[[str], str], reach: Reach) -> None:
        self.url, self.where = _checked(str(connection.option("URL")))
        self.reach = reach
        self._key = key_bytes(secret(connection.secrets["KEY"]))
        headers = {"Content-Type": "application/json"}
        if "TOKEN" in connection.secrets:
            headers["Authorization"] = f"Bearer {secret(connection.secrets['TOKEN'])}"
        try:
            trust: ssl.SSLContext | bool = True
            if authorities := connection.option("TLS_CA"):
                trust = ssl.create_default_context(cafile=str(authorities))
            self._client = httpx.Client(headers=headers, timeout=TIMEOUT_S, trust_env=False, follow_redirects=False,
                                        verify=trust)
        except (OSError, ValueError) as error:
            raise TargetRefusesError("the connection cannot be used", f"{self.where}: {error}",
                                     "correct TLS_CA and the secrets") from None

    def send(self, id_: str, body: bytes, now_s: int) -> None:
        """Send one message; it is taken when this returns. TargetAwayError if it is worth another try."""
        headers = {"webhook-id": id_, "webhook-timestamp": str(now_s),
                   "webhook-signature": signature(self._key, id_, now_s, body)}
        answer = self._post(body, headers)
        if answer.is_success:
            return
        said = f"{answer.status_code} {answer.reason_phrase}: {answer.text[:ANSWER_MAX]}".rstrip(": ")
        if answer.is_server_error or answer.status_code in AGAIN:
            after_s = retry_after_s(answer.headers.get("retry-after", ""), now_s)
            raise TargetAwayError(f"{self.where} does not take messages now", said, after_s=after_s)
        hint = "name the address itself" if answer.is_redirect else "see there why; its log has the webhook-id"
        raise TargetRefusesError(f"{self.where} refuses a message", f"{id_}: {said}", hint)

    def addresses(self) -> list[str]:
        """Where the name leads to now. TargetRefusesError if that must not be reached."""
        return resolve(self.url.host, self.url.port or (443 if self.url.scheme == "https" else 80), self.reach)

    def close(self) -> None:
        """End the connection."""
        self._client.close()

    def _post(self, body: bytes, headers: dict[str, str]) -> httpx.Response:
        """The answer of the first of the name's addresses that takes a connection."""
        said = ""
        for address in self.addresses():
            try:
                return self._client.post(self.url.copy_with(host=address), content=body,
                                         headers={"Host": self.url.netloc.decode(), **headers},
                                         extensions={"sni_hostname": self.url.host})
            except httpx.ConnectError as error:
                said = str(error)
            except httpx.HTTPError as error:
                raise TargetAwayError(f"{self.where} does not answer", str(error) or type(error).__name__) from None
        raise TargetAwayError(f"{self.where} does not answer", said or "no address takes a connection")


def retry_after_s(text: str, now_s: int) -> float:
    """How long the header Retry-After says to wait, at most RETRY_AFTER_MAX_S; 0 if it says nothing that is known."""
    try:
        wait_s = float(text) if text.strip().isdigit() else parsedate_to_datetime(text).timestamp() - now_s
    except (TypeError, ValueError):
        return 0.0
    return min(max(0.0, wait_s), RETRY_AFTER_MAX_S)


def signature(key: bytes, id_: str, now_s: int, body: bytes) -> str:
    """What webhook-signature has."""
    signed = hmac.new(key, f"{id_}.{now_s}.".encode() + body, hashlib.sha256).digest()
    return "v1," + base64.b64encode(signed).decode()


def key_bytes(text: str) -> bytes:
    """The bytes of a key as people exchange it."""
    if not text.startswith(PREFIX):
        return text.encode()
    try:
        return base64.b64decode(text.removeprefix(PREFIX), validate=True)
    except binascii.Error:
        raise TargetRefusesError("the key cannot be used", f"after {PREFIX} stands no base64",
                                 "set the secret again") from None


def _checked(text: str) -> tuple[httpx.URL, str]:
    """The address; and its scheme, host and port, which may be shown: a path may have a secret in it."""
    try:
        url = httpx.URL(text)
    except (httpx.InvalidURL, TypeError):
        raise TargetRefusesError("the URL of the connection cannot be used", "it is none",
                                 "give https://host/path") from None
    if url.userinfo:
        raise TargetRefusesError("the URL of the connection cannot be used", "it has a password in it",
                                 "leave it out; TOKEN SECRET name sends a bearer token")
    if not url.host or not (url.scheme == "https" or (url.scheme == "http" and is_loopback(url.host))):
        raise TargetRefusesError("the URL of the connection cannot be used", f"it begins with {url.scheme}://{url.host}",
                                 "give https://host/path; http is for this machine alone")
    return url, f"{url.scheme}://{url.netloc.decode()}"
