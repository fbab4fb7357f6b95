"""Sitemaps: what they list, and what is refused of files that mean harm."""

from __future__ import annotations

import gzip
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton_documents.errors import DocumentRefused
from baton_documents.text import sitemaps
from baton_documents.text.sitemaps import read_sitemap

NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def urlset(*urls: str) -> bytes:
    pages = "".join(f"<url><loc> {url} </loc><lastmod>2026-01-01</lastmod></url>" for url in urls)
    return f'<?xml version="1.0" encoding="UTF-8"?><urlset {NAMESPACE}>{pages}</urlset>'.encode()


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_the_addresses_of_a_sitemap_in_their_order(pack: type[bytes]) -> None:
    sitemap = read_sitemap(pack(urlset("https://a.example/1", "https://a.example/2?x=1&amp;y=2")), limit=10)
    assert sitemap.urls == ["https://a.example/1", "https://a.example/2?x=1&y=2"]
    assert (sitemap.sitemaps, sitemap.is_complete) == ([], True)


def test_the_sitemaps_of_an_index() -> None:
    body = f"<sitemapindex {NAMESPACE}><sitemap><loc>https://a.example/s1.xml</loc></sitemap></sitemapindex>"
    sitemap = read_sitemap(body.encode(), limit=10)
    assert (sitemap.urls, sitemap.sitemaps) == ([], ["https://a.example/s1.xml"])


def test_addresses_of_extensions_are_no_pages() -> None:
    body = (
        f'<urlset {NAMESPACE} xmlns:i="http://www.google.com/schemas/sitemap-image/1.1"><url><loc>https://a.example/1'
        "</loc><i:image><i:loc>https://a.example/1.png</i:loc></i:image></url></urlset>"
    )
    assert read_sitemap(body.encode(), limit=10).urls == ["https://a.example/1"]


def test_a_long_sitemap_is_taken_up_to_the_limit() -> None:
    sitemap = read_sitemap(urlset(*(f"https://a.example/{n}" for n in range(11))), limit=10)
    assert (len(sitemap.urls), sitemap.is_complete) == (10, False)


LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f'<!DOCTYPE u [<!ENTITY l0 "lol">{LAUGHS}]><urlset>&l9;</urlset>'.encode(), "document type"),
        (b'<!DOCTYPE u SYSTEM "file:///etc/passwd"><urlset/>', "document type"),
        (b"<urlset>&undeclared;</urlset>", "well-formed"),
        (b"<html><body>Hello</body></html>", "no sitemap"),
        (b"", "well-formed"),
        (b"not xml", "well-formed"),
        (urlset("https://a.example/1")[:-3], "well-formed"),
        (b"<urlset>" + b"<a>" * 100, "nested too deep"),
        (gzip.compress(urlset())[:-9], "cut off"),
        (b"\x1f\x8bnonsense", "cannot be decompressed"),
    ],
)
def test_what_is_no_sitemap_is_refused(body: bytes, expected: str) -> None:
    with pytest.raises(DocumentRefused) as raised:
        read_sitemap(body, limit=10)
    assert expected in raised.value.detail


@pytest.mark.parametrize(
    ("declared", "codec", "charset"),
    [
        (' encoding="windows-1251"', "cp1251", None),
        (' encoding="gb2312"', "cp1251", "windows-1251"),
        (' encoding="UTF-8"', "utf-16-le", None),
        (' encoding="shift_jis"', "utf-8-sig", None),
        ("", "utf-8", None),
    ],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_sitemap_is_decoded_as_pages_are(
    declared: str, codec: str, charset: str | None, pack: Callable[[bytes], bytes]
) -> None:
    url = "https://a.example/отпуск"
    xml = f'<?xml version="1.0"{declared}?><urlset><url><loc>{url}</loc></url></urlset>'
    assert read_sitemap(pack(xml.encode(codec)), limit=10, charset=charset).urls == [url]


def test_a_bomb_is_not_decompressed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sitemaps, "MAX_XML_BYTES", 1_000_000)
    with pytest.raises(DocumentRefused) as raised:
        read_sitemap(gzip.compress(b"<urlset>" + b" " * 10_000_000), limit=10)
    assert "more than 1000000 bytes" in raised.value.detail


@given(
    st.binary(max_size=300)
    | st.text(max_size=200).map(lambda text: f"<urlset>{text}</urlset>".encode("utf-8", "replace"))
)
def test_whatever_a_server_sends_is_a_sitemap_or_none(body: bytes) -> None:
    try:
        sitemap = read_sitemap(body, limit=3)
    except DocumentRefused:
        return
    assert len(sitemap.urls) <= 3
