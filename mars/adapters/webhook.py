"""Signed messages to one address over HTTP (httpx), as https://www.standardwebhooks.com describes them."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import ssl
from collections.abc import Callable

import httpx

from mars.adapters.target_errors import TargetAwayError, TargetRefusesError
from mars.model.connections import Connection
from mars.settings_checks import is_loopback

TIMEOUT_S = 10.0
PREFIX = "whsec_"  # before a key in base64; any other key is its own bytes
AGAIN = (408, 425, 429)  # what passes by waiting, beside the server's own faults
ANSWER_MAX = 200


class Hook:
    """One address. TargetRefusesError if it cannot be one: messages go by TLS, except to this machine itself."""

    def __init__(self, connection: Connection, secret: Callable[[str], str]) -> None:
        self.url = str(connection.option("URL"))
        self.where = _checked(self.url)
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
        try:
            answer = self._client.post(self.url, content=body, headers=headers)
        except httpx.HTTPError as error:
            raise TargetAwayError(f"{self.where} does not answer", str(error) or type(error).__name__) from None
        if answer.is_success:
            return
        said = f"{answer.status_code} {answer.reason_phrase}: {answer.text[:ANSWER_MAX]}".rstrip(": ")
        if answer.is_server_error or answer.status_code in AGAIN:
            raise TargetAwayError(f"{self.where} does not take messages now", said)
        hint = "name the address itself" if answer.is_redirect else "see there why; its log has the webhook-id"
        raise TargetRefusesError(f"{self.where} refuses a message", f"{id_}: {said}", hint)

    def close(self) -> None:
        """End the connection."""
        self._client.close()


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


def _checked(text: str) -> str:
    """Scheme, host and port, which may be shown: a path may have a secret in it."""
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
    return f"{url.scheme}://{url.netloc.decode()}"
