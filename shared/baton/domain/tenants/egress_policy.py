"""The policy of outgoing requests: hosts on the deployment's allow-list, and public addresses only."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

Address = IPv4Address | IPv6Address

HOST_ENTRY = r"\*|(\*\.)?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*"
"""An entry of the allow-list: a host, ``*.`` and a domain (its subdomains, not the domain itself), or ``*``."""

_FORBIDDEN = tuple(
    map(
        ip_network,
        (
            "0.0.0.0/8",  # "this network"
            "10.0.0.0/8",  # private
            "100.64.0.0/10",  # carrier-grade NAT
            "127.0.0.0/8",  # loopback
            "169.254.0.0/16",  # link-local: instance metadata and task credentials
            "172.16.0.0/12",  # private
            "192.0.0.0/24",  # protocol assignments
            "192.0.2.0/24",  # documentation
            "192.88.99.0/24",  # 6to4 relays
            "192.168.0.0/16",  # private
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, and broadcast
            "2001::/23",  # protocol assignments, with Teredo, which carries an IPv4 address
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4, which carries an IPv4 address; deprecated by RFC 7526
            "3fff::/20",  # documentation
        ),
    )
)
"""The non-public networks of https://www.iana.org/assignments/iana-ipv4-special-registry, and inside 2000::/3 those of
https://www.iana.org/assignments/iana-ipv6-special-registry."""
_GLOBAL_V6 = IPv6Network("2000::/3")
"""The only global unicast block of IPv6. All other addresses are local, mapped, multicast or unassigned."""
_NAT64 = IPv6Network("64:ff9b::/96")
"""The prefix by which DNS64 embeds an IPv4 address (RFC 6052). The embedded address decides."""


LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
"""The names of this machine in addresses of web pages and agents."""

_LOCAL_NAME = re.compile(r"(.+\.)?(localhost|local|internal|home\.arpa)|[^.:]*|(.+\.)?(\d+|0x[0-9a-f]*)", re.IGNORECASE)
"""Names that no public host has (RFC 6761, 6762 and 8375; ICANN's ``internal``), names without a dot, and numbers that
some resolvers read as addresses (``127.1``)."""


class EgressRefused(Exception):
    """The deployment does not allow this connection; the message names the host, for operators and models."""


class ResponseTooLarge(Exception):
    """The peer's answer exceeds the caller's limit."""

    def __init__(self, limit: int, unit: str = "bytes") -> None:
        self.limit = limit
        self.unit = unit
        super().__init__(f"The answer is longer than {limit} {unit}.")


@dataclass(frozen=True, slots=True)
class EgressPolicy:
    """The hosts that may be called."""

    hosts: tuple[str, ...] = ()
    """Lower-case entries of the form ``HOST_ENTRY``. ``*`` allows any host with a public address."""
    allow_local: bool = False
    """Whether plain http and localhost are allowed: in the local cloud only."""

    @classmethod
    def of(cls, entries: Iterable[str], *, allow_local: bool = False) -> EgressPolicy:
        """Return a policy for these entries. Raises ``ValueError`` for an entry that is not a ``HOST_ENTRY``."""
        hosts = tuple(entry.strip().lower() for entry in entries if entry.strip())
        for host in hosts:
            if re.fullmatch(HOST_ENTRY, host) is None:
                raise ValueError(f"{host!r} is no host name: write api.example.com, *.example.com or *")
        return cls(hosts, allow_local)

    def check_url(self, url: str) -> None:
        """Raise ``EgressRefused`` if a URL is refused by its scheme or host, before the host is resolved."""
        try:
            parts = urlsplit(url)
            host = parts.hostname or ""
        except ValueError:
            raise EgressRefused("It is not a valid address.") from None
        self.check_host(host)
        self.check_scheme(parts.scheme, host)

    def check_scheme(self, scheme: str, host: str) -> None:
        """Raise ``EgressRefused`` unless the scheme is https or, in the local cloud, http."""
        if scheme != "https" and not (self.allow_local and scheme == "http"):
            raise EgressRefused(f"{host} must be called over https.")

    def check_host(self, host: str) -> None:
        """Raise ``EgressRefused`` unless ``host``, a name or an IP address, is on the list and may be public.

        In the local cloud, this machine needs no entry, and entries may be local names and addresses.
        """
        name = host.lower().rstrip(".")
        if self.allow_local and (name == "localhost" or _is_loopback(name)):
            return
        address = _parse_address(name)
        is_local = not is_public(address) if address is not None else _LOCAL_NAME.fullmatch(name) is not None
        if is_local and not self.allow_local:
            raise EgressRefused(f"{host} is not a public address.")
        if not any(_matches(entry, name) for entry in self.hosts):
            raise EgressRefused(
                f"{host} is not among the hosts that this deployment may call (allowedHosts of the settings; in a "
                "project, `allowed_hosts` in pyproject.toml)."
            )

    def check_address(self, host: str, address: str) -> None:
        """Raise ``EgressRefused`` unless ``address``, to which the resolver resolved ``host``, is public.

        In the local cloud, an address of this machine is allowed too. An IPv6 address may have a zone.
        """
        if self.allow_local and _is_loopback(address):
            return
        parsed = _parse_address(address)
        if parsed is None:
            raise EgressRefused(f"{host} has no usable address.")
        if not is_public(parsed):
            # The message omits the address, because internal addresses must not leak.
            raise EgressRefused(f"{host} is not a public address.")


def is_public(address: Address) -> bool:
    """Return whether ``address``, or the IPv4 address that it maps (RFC 4291) or embeds (NAT64), is public.

    Stricter than ``ipaddress.is_global``, whose answers differ between Python's patch releases.
    """
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _FORBIDDEN)
    if address.scope_id is not None:
        return False
    if address.ipv4_mapped is not None:
        return is_public(address.ipv4_mapped)
    if address in _NAT64:
        return is_public(IPv4Address(int(address) & 0xFFFF_FFFF))
    return address in _GLOBAL_V6 and not any(address in network for network in _FORBIDDEN)


def _matches(entry: str, name: str) -> bool:
    if entry == "*":
        return True
    if entry.startswith("*."):
        return name.endswith(entry[1:]) and len(name) > len(entry) - 1
    return name == entry


def _is_loopback(text: str) -> bool:
    address = _parse_address(text)
    return address is not None and address.is_loopback


def _parse_address(text: str) -> Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None
