"""Hosts and addresses that may be reached."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.adapters.egress import EgressPolicy, EgressRefused
from baton.adapters.egress.pool import connect
from baton.domain.tenants.egress_policy import is_public

ANYWHERE = EgressPolicy(("*",))
AT_HOME = EgressPolicy((), allow_local=True)

INSIDE = (
    "0.0.0.0",  # noqa: S104
    "10.1.2.3",
    "100.64.0.1",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.0.9",
    "169.254.169.254",
    "169.254.170.2",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.170",
    "192.0.2.5",
    "192.88.99.1",
    "192.168.0.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.9",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "::ffff:0:10.0.0.1",
    "64:ff9b::10.0.0.1",
    "64:ff9b::169.254.169.254",
    "64:ff9b:1::8.8.8.8",
    "100::1",
    "2001::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:a9fe:a9fe::1",
    "2002:808:808::1",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "2606:4700::1%eth0",
    "fec0::1",
    "ff02::1",
)
OUTSIDE = (
    "8.8.8.8",
    "100.63.255.255",
    "100.128.0.0",
    "172.32.0.1",
    "192.0.1.1",
    "198.20.0.1",
    "223.255.255.255",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
    "2600:1f18::1",
    "2a00:1450:4001::1",
)


@pytest.mark.parametrize("address", INSIDE)
def test_addresses_that_are_not_public_are_refused(address: str) -> None:
    with pytest.raises(EgressRefused, match=r"api\.example\.com is not a public address"):
        ANYWHERE.check_address("api.example.com", address)


@pytest.mark.parametrize("address", OUTSIDE)
def test_public_addresses_are_allowed(address: str) -> None:
    ANYWHERE.check_address("api.example.com", address)


@given(st.ip_addresses(v=4))
def test_an_address_is_as_public_as_the_standard_library_says_or_less(address: IPv4Address) -> None:
    if is_public(address):
        assert address.is_global
        assert not any((address.is_multicast, address.is_reserved, address.is_loopback, address.is_link_local))


@given(st.ip_addresses(v=6))
def test_an_ipv6_address_is_public_only_in_the_global_block(address: IPv6Address) -> None:
    if is_public(address) and address.ipv4_mapped is None and address not in IPv6Network("64:ff9b::/96"):
        assert address in IPv6Network("2000::/3")
        assert not any((address.is_multicast, address.is_private, address.is_link_local, address.sixtofour))


@given(st.ip_addresses(v=4))
def test_an_embedded_address_is_never_more_public_than_itself(address: IPv4Address) -> None:
    mapped = ip_address(int(ip_address("::ffff:0:0")) | int(address))
    nat64 = ip_address(int(ip_address("64:ff9b::")) | int(address))
    six_to_four = ip_address((0x2002 << 112) | (int(address) << 80))
    compatible = IPv6Address(int(address))

    assert is_public(mapped) == is_public(nat64) == is_public(address)
    assert not is_public(six_to_four)
    assert not is_public(compatible)


@given(st.text(max_size=40))
def test_what_is_no_address_is_refused(text: str) -> None:
    try:
        ip_address(text)
    except ValueError:
        with pytest.raises(EgressRefused):
            ANYWHERE.check_address("api.example.com", text)


def test_an_empty_list_allows_nothing() -> None:
    with pytest.raises(EgressRefused, match=r"not among the hosts"):
        EgressPolicy().check_host("api.example.com")


@pytest.mark.parametrize(
    ("entry", "host", "allowed"),
    [
        ("api.example.com", "api.example.com", True),
        ("api.example.com", "API.Example.com.", True),
        ("api.example.com", "api.example.com.evil.net", False),
        ("api.example.com", "xapi.example.com", False),
        ("*.example.com", "api.example.com", True),
        ("*.example.com", "a.b.example.com", True),
        ("*.example.com", "example.com", False),
        ("*.example.com", "evilexample.com", False),
        ("*.example.com", ".example.com", False),
        ("*", "anything.org", True),
        ("8.8.8.8", "8.8.8.8", True),
    ],
)
def test_an_entry_of_the_list_means_exactly_its_hosts(entry: str, host: str, allowed: bool) -> None:
    policy = EgressPolicy.of([entry])
    if allowed:
        policy.check_host(host)
    else:
        with pytest.raises(EgressRefused):
            policy.check_host(host)


@pytest.mark.parametrize("entry", ["https://a.com", "a.com:443", "a.com/x", "*.*.com", "a*.com", "*.", "a b"])
def test_an_entry_that_is_no_host_is_an_error(entry: str) -> None:
    with pytest.raises(ValueError, match="no host name"):
        EgressPolicy.of([entry])


def test_only_https_leaves_a_deployment() -> None:
    ANYWHERE.check_scheme("https", "api.example.com")
    for scheme in ("http", "ftp", "file", ""):
        with pytest.raises(EgressRefused, match="https"):
            ANYWHERE.check_scheme(scheme, "api.example.com")


def test_the_local_cloud_may_call_this_machine_and_nothing_else_inside() -> None:
    AT_HOME.check_scheme("http", "localhost")
    for host in ("localhost", "127.0.0.1", "::1"):
        AT_HOME.check_host(host)
        AT_HOME.check_address(host, "127.0.0.1")
    with pytest.raises(EgressRefused):
        AT_HOME.check_host("api.example.com")
    for address in ("169.254.169.254", "10.0.0.1", "fe80::1"):
        with pytest.raises(EgressRefused):
            AT_HOME.check_address("localhost", address)


NAMES = st.sampled_from(("api.example.com", "example.com", "localhost", "x.localhost", "db", "a.internal", "b.local"))


@given(host=NAMES | st.ip_addresses().map(str), entry=st.sampled_from(("*", "api.example.com", "*.example.com")))
async def test_an_address_is_refused_beforehand_exactly_if_a_connection_to_it_would_be(host: str, entry: str) -> None:
    async def resolve(name: str, port: int) -> list[str]:
        return [name if is_number else "8.8.8.8"]

    async def open_to(address: str, seconds: float | None) -> str:
        return address

    is_number = ":" in host or host.replace(".", "").isdigit()
    policy = EgressPolicy.of([entry])
    refusals = 0
    try:
        policy.check_url(f"https://[{host}]/x" if ":" in host else f"https://{host}/x")
    except EgressRefused:
        refusals += 1
    try:
        await connect(policy, resolve, host, 443, None, open_to)
    except EgressRefused:
        refusals += 1
    assert refusals != 1


@pytest.mark.parametrize("host", ["localhost", "a.localhost", "printer.local", "api.internal", "db", "127.1", "0x7f.1"])
def test_names_that_no_public_host_has_are_refused_whatever_is_listed(host: str) -> None:
    with pytest.raises(EgressRefused, match="is not a public address"):
        EgressPolicy.of(["*", host]).check_url(f"https://{host}/x")
