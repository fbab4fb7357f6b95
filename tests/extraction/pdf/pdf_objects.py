"""PDF files made of their objects, as no program makes them."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from functools import cache

FONT = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"


def stream(content: bytes, entries: bytes = b"") -> bytes:
    return b"<<%s/Length %d>>stream\n%s\nendstream" % (entries, len(content), content)


def deflate(content: bytes, entries: bytes = b"") -> bytes:
    return stream(zlib.compress(content, 9), b"/Filter/FlateDecode" + entries)


@cache
def _checksum(beginning: bytes, megabytes: int) -> int:
    """Return the checksum of bytes that megabytes of blanks follow."""
    checksum = zlib.adler32(beginning)
    for _ in range(megabytes):
        checksum = zlib.adler32(b" " * 2**20, checksum)
    return checksum


def bomb(megabytes: int, entries: bytes = b"", beginning: bytes = b"") -> bytes:
    """A stream of blanks. Each megabyte is the same bytes when it is packed, so it is packed once."""
    blanks = b" " * 2**20
    packer = zlib.compressobj(9)
    head = packer.compress(beginning) + packer.flush(zlib.Z_FULL_FLUSH)
    packed = packer.compress(blanks) + packer.flush(zlib.Z_FULL_FLUSH)
    end = b"\3\0" + _checksum(beginning, megabytes).to_bytes(4, "big")  # an empty last block
    return stream(head + packed * megabytes + end, b"/Filter/FlateDecode" + entries)


def form(content: bytes, resources: bytes | None = b"") -> bytes:
    own = b"" if resources is None else b"/Resources<<%s>>" % resources
    return stream(content, b"/Type/XObject/Subtype/Form/BBox[0 0 612 792]" + own)


def pdf(objects: Mapping[int, bytes], *, trailer: bytes = b"") -> bytes:
    """A file of numbered objects. The first is the ``/Catalog``."""
    out, places = b"%PDF-1.7\n", {}
    for number, body in sorted(objects.items()):
        places[number] = len(out)
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    size = max(objects) + 1
    entries = (
        b"%010d 00000 n \n" % places[number] if number in places else b"0000000000 00000 f \n"
        for number in range(1, size)
    )
    table = b"xref\n0 %d\n0000000000 65535 f \n" % size + b"".join(entries)
    return out + table + b"trailer<</Size %d/Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF" % (size, trailer, len(out))


def one_page(
    content: bytes,
    resources: bytes = b"",
    objects: Mapping[int, bytes] | None = None,
    *,
    page: bytes = b"",
    catalog: bytes = b"",
    contents: bytes = b"5 0 R",
) -> bytes:
    """A file with one page, whose font is F. Further objects have the numbers from 10 on."""
    return pdf(
        {
            1: b"<</Type/Catalog/Pages 2 0 R%s>>" % catalog,
            2: b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
            3: b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents %s/Resources<</Font<</F 4 0 R>>%s>>%s>>"
            % (contents, resources, page),
            4: FONT,
            5: content if b"endstream" in content else stream(content),
            **(objects or {}),
        }
    )
