"""Refuses what a browser sends on behalf of another website's page.

Any website can make its visitor's browser send requests to this machine. This module closes two ways. The first is a
request that changes something: without a body, a browser sends it without asking first. The second is a name of the
website's own that leads to this machine (DNS rebinding), by which the page could read and change everything. Other
programs than browsers notice nothing.
"""

from __future__ import annotations

import functools
import ipaddress
import re
from typing import NamedTuple

from fastapi.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from api.rest.problems import problem, shown
from api.tls import certificate_names
from mars.config import Config

READING = ("GET", "HEAD")
FOREIGN_SITES = (b"cross-site", b"same-site")  # another port of this machine is the same site, but not this API
DEFAULT_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.?))(?::(\d{0,5}))?")
_HEADERS = (b"host", b"origin", b"sec-fetch-site")
_HOST_SHOWN = 100


class Place(NamedTuple):
    """The place that a Host header names, in one spelling. `port` is None if it is the scheme's default."""

    host: str
    port: int | None


class ForeignPages:
    """Middleware: 421 for a Host that is not a name of this API, 403 for a request that changes something on behalf of
    another page. Without `is_open` only this machine reaches the API, so other addresses are not names of it."""

    def __init__(self, app: ASGIApp, config: Config, is_open: bool) -> None:
        self.app = app
        self.is_open = is_open
        names = [config.api_host, *filter(None, config.api_allowed_hosts.split(",")), *certificate_names(config)]
        self.names = frozenset(map(_spelt, names))
        # Only the settings count: anybody can claim in a request that a proxy is in front of the API.
        self.schemes = ("http", "https") if config.api_behind_tls else (
            "https",) if config.api_tls_certificate else ("http",)
        self.own_place = functools.lru_cache(256)(self._own_place)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        given: dict[bytes, list[bytes]] = {name: [] for name in _HEADERS}
        for name, value in scope["headers"]:
            if name in given:
                given[name].append(value)
        hosts, origins, sites = given.values()
        place = self.own_place(hosts[0]) if len(hosts) == 1 else None
        if place is None:
            return await _wrong_host(hosts)(scope, receive, send)
        if scope["method"] not in READING and (
                any(site.strip().lower() in FOREIGN_SITES for site in sites)
                or not all(self._is_own_origin(origin, place) for origin in origins)):
            return await _foreign(origins)(scope, receive, send)
        return await self.app(scope, receive, send)

    def _own_place(self, header: bytes) -> Place | None:
        """The place that the header names; None if that is not this API."""
        place = _place(header.decode("latin-1"))
        return place if place and self._is_own(place.host) else None

    def _is_own(self, host: str) -> bool:
        if host in self.names or f"*.{host.partition('.')[2]}" in self.names:
            return True
        if host == "localhost" or host.endswith(".localhost"):
            return True
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return False
        # A website cannot have one of our addresses as its name. Only names can be made to lead elsewhere.
        return self.is_open or address.is_loopback or address.is_unspecified

    def _is_own_origin(self, header: bytes, place: Place) -> bool:
        scheme, _, authority = header.decode("latin-1").lower().partition("://")
        origin = _place(authority)
        if origin is None or scheme not in self.schemes:
            return False
        default = DEFAULT_PORTS[scheme]
        return (origin.host, origin.port or default) == (place.host, place.port or default)


def _place(authority: str) -> Place | None:
    """The place in a text `host` or `host:port`; None if it is neither."""
    found = _HOST.fullmatch(authority)
    if not found:
        return None
    return Place(_spelt(found[1] or found[2]), int(found[3]) if found[3] else None)


def _spelt(host: str) -> str:
    """A host in the spelling in which hosts are compared."""
    host = host.strip("[]").lower().removesuffix(".")
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        return host


def _wrong_host(hosts: list[bytes]) -> JSONResponse:
    if len(hosts) != 1 or not hosts[0]:
        return problem(421, "the Host is missing", "a request must name what it calls, once, in the header Host",
                       "send it once")
    host = shown(hosts[0].decode("latin-1"), _HOST_SHOWN)
    return problem(421, "this is not a name of the API",
                   f"the request calls {host}, which a website may have made to lead here",
                   "call it as localhost or by its address; if the name is yours, add it to api_allowed_hosts "
                   "(MARS_API_ALLOWED_HOSTS) without its port, and start Mars again")


def _foreign(origins: list[bytes]) -> JSONResponse:
    whose = shown(origins[0].decode("latin-1"), _HOST_SHOWN) if origins else "another page"
    return problem(403, "the request comes from another page", f"a browser sent it for {whose}, which is not this API",
                   "send it from a program; if there is a proxy, let it pass on the header Host, and add its name to "
                   "api_allowed_hosts (MARS_API_ALLOWED_HOSTS)")
