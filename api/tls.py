"""TLS of the API: its own files looked at before anything starts, and whom a client of an API believes.

A certificate is always verified, and always against a host name. A command that calls its own instance believes that
instance's certificate and no other, under the name that stands in it: the address that it calls, often loopback, rarely
does.
"""

from __future__ import annotations

import contextlib
import os
import re
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from mars.config import Config
from mars.errors import ConfigurationError, MarsError

T = TypeVar("T")
FIRST = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
ENVIRONMENT = "SSL_CERT_FILE"
_NAME = "call it by a name that stands in its certificate"
_DATE = "have it renewed, and see that this machine's clock is right"
# What OpenSSL says, the first that fits: pattern, what it means, what to do ('': what Trust says).
_MEANINGS = (("(hostname|ip address) mismatch", "The API's certificate is for another host name", _NAME),
             ("certificate has expired|not yet valid", "The API's certificate is out of date", _DATE),
             ("certificate.verify.failed", "The API's certificate is not trusted", ""),
             ("wrong.version.number|record layer|packet length", "The API speaks no TLS there", "call it by http://"))


@dataclass(frozen=True)
class Trust:
    """Whom a client believes. `context` verifies, `name` is the host name that the certificate must have ('': that of the
    URL), `hint` says what to do about a certificate that is not believed."""

    context: ssl.SSLContext
    name: str = ""
    hint: str = f"--ca FILE, or {ENVIRONMENT}, names a PEM file of the authority that signed it"

    @staticmethod
    def own(certificate: str, name: str) -> Trust:
        """In the one certificate of an instance: the first of its file. MarsError if that does not read."""
        return Trust(_read("the API's certificate", certificate, lambda: _pinned(certificate)), name,
                     f"the API has another one than {certificate}: if that was renewed, start Mars again")

    @staticmethod
    def given(ca: Path | None) -> Trust:
        """In the certificates of a file, that of SSL_CERT_FILE if none is given, else in those that the system trusts."""
        file = str(ca or os.environ.get(ENVIRONMENT, ""))
        if not file:
            return Trust(ssl.create_default_context())
        context = _context()
        _read("--ca" if ca else ENVIRONMENT, file, lambda: context.load_verify_locations(file))
        return Trust(context)

    @staticmethod
    def nobody() -> Trust:
        """In no certificate, for a client that speaks without TLS."""
        return Trust(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))


def explain(said: str, trust: Trust) -> tuple[str, str] | None:
    """(title, hint) for what a failed connection said; None if that is not about TLS."""
    for pattern, title, hint in _MEANINGS:
        if re.search(pattern, said, re.IGNORECASE):
            return title, hint or trust.hint
    return None


def certificate_name(config: Config) -> str:
    """A host name that verifies by the API's certificate, `mars` in place of a wildcard; '' if the API has none.
    ConfigurationError unless the files read, belong together, and a client can believe the certificate today."""
    return _names(_verified(config))[0].replace("*", "mars", 1) if config.api_tls_certificate else ""


def certificate_names(config: Config) -> list[str]:
    """All host names and addresses that stand in the API's certificate, as they stand there; none if the API has none, or
    one that no client can believe today."""
    if not config.api_tls_certificate:
        return []
    with contextlib.suppress(ConfigurationError):
        return _names(_verified(config))
    return []


def _verified(config: Config) -> dict:
    certificate, key = config.api_tls_certificate, config.api_tls_key
    for setting, file in (("api_tls_certificate", certificate), ("api_tls_key", key)):
        _read(setting, file, Path(file).read_bytes)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _read("api_tls_certificate", certificate, lambda: _pinned(certificate))
    # This empty password makes OpenSSL refuse a key that has one; otherwise OpenSSL would ask at the terminal.
    _read("api_tls_key", key, lambda: server.load_cert_chain(certificate, key, lambda: ""),
          f"it must be the key of {certificate}, as PEM without a password")
    return _read("api_tls_certificate", certificate, lambda: _shaken(server, _pinned(certificate)))


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # each certificate of the file is believed, not only roots
    return context


def _pinned(certificate: str) -> ssl.SSLContext:
    found = FIRST.search(Path(certificate).read_text(encoding="ascii", errors="replace"))
    if not found:
        raise ValueError("there is no certificate in it")
    context = _context()
    context.load_verify_locations(cadata=found[0])
    return context


def _shaken(server: ssl.SSLContext, client: ssl.SSLContext) -> dict[str, Any]:
    """The server's certificate as a client has verified it, after a handshake within memory."""
    client.check_hostname = False  # its name is what we want to know
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    mine = client.wrap_bio(to_client, to_server)
    other = server.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(3):
        for side in (mine, other):
            with contextlib.suppress(ssl.SSLWantReadError):
                side.do_handshake()
    certificate = mine.getpeercert()
    assert certificate is not None  # the handshake has verified it
    return dict(certificate)


def _names(certificate: dict) -> list[str]:
    """DNS names, then addresses; where there are none, the common name. ConfigurationError if there is none either."""
    names = sorted(certificate.get("subjectAltName", ()))  # DNS before IP Address
    common = [value for part in certificate["subject"] for name, value in part if name == "commonName"]
    usable = [value for kind, value in names if kind in ("DNS", "IP Address")] or common
    if not usable:
        raise ConfigurationError("api_tls_certificate names no host", "it has neither a DNS name nor an address",
                                 "no client would believe it: have one issued with a subjectAltName")
    return usable


def _read(setting: str, file: str, load: Callable[[], T], hint: str = "") -> T:
    try:
        return load()
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        kind = ConfigurationError if setting.startswith("api_") else MarsError
        detail = getattr(error, "verify_message", "") or error.strerror if isinstance(error, OSError) else str(error)
        raise kind(f"{setting} = {file} cannot be used", detail or str(error),
                   hint or "it must be a PEM file of certificates that can be read") from None
