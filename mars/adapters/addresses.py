"""Which addresses a message to a name that a person gave may go to.

A name is looked up, and the connection is made to an address that was found good: what the name leads to a moment later
does not matter.
"""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass

from mars.adapters.target_errors import TargetAwayError, TargetRefusesError
from mars.config import Config
from mars.settings_checks import is_loopback

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
NAT64 = ipaddress.ip_network("64:ff9b::/96")
# Where clouds keep what a machine may do, outside of what is link-local.
METADATA = frozenset(map(ipaddress.ip_address, ("100.100.100.200", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254")))


@dataclass(frozen=True)
class Reach:
    """`is_local`: nobody but this machine can make connections, so they may go to it and to its network. `networks`: what
    else may be reached although it is private."""

    is_local: bool
    networks: tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...] = ()

    @staticmethod
    def of(config: Config) -> Reach:
        """What the settings say."""
        networks = tuple(map(ipaddress.ip_network, filter(None, config.webhook_networks.split(","))))
        return Reach(is_loopback(config.api_host) and not config.api_behind_tls, networks)

    def refusal(self, address: Address) -> str | None:
        """Why no message goes there; None if it may."""
        address = embedded(address)
        if address in METADATA or address.is_link_local:
            return "machines keep their credentials at such addresses"
        if address.is_multicast or address.is_unspecified or (address.is_reserved and not address.is_loopback):
            return "it is the address of no machine"
        if address.is_global or self.is_local or any(address in network for network in self.networks):
            return None
        return f"it is {'this machine' if address.is_loopback else 'private'}, and others than this machine reach the API"


def embedded(address: Address) -> Address:
    """The IPv4 address that an IPv6 address stands for, if it does."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


def resolve(host: str, port: int, reach: Reach) -> list[str]:
    """The addresses of a name that messages may go to, the best first. TargetAwayError if it has none now,
    TargetRefusesError if it has one that must not be reached."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise TargetAwayError(f"{host} has no address", error.strerror or str(error)) from None
    texts = list(dict.fromkeys(str(place[0]).partition("%")[0] for *_, place in found))
    for text in texts:
        if why := reach.refusal(ipaddress.ip_address(text)):
            raise TargetRefusesError(f"{host} must not be reached", f"its address is {text}: {why}",
                                     "name another one; or see webhook_networks of the settings")
    return texts
