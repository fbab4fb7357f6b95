"""Streams of PDF files, which are unpacked within bounds."""

from __future__ import annotations

import zlib
from typing import Any

from pdfminer.ascii85 import ascii85decode, asciihexdecode
from pdfminer.lzw import lzwdecode
from pdfminer.pdfexceptions import PDFException
from pdfminer.pdftypes import (
    LITERALS_ASCII85_DECODE,
    LITERALS_ASCIIHEX_DECODE,
    LITERALS_FLATE_DECODE,
    LITERALS_LZW_DECODE,
    LITERALS_RUNLENGTH_DECODE,
    PDFStream,
    int_value,
)
from pdfminer.psexceptions import PSException
from pdfminer.runlength import rldecode
from pdfminer.utils import apply_png_predictor

MAX_STREAM = 32 * 1024 * 1024
"""The most bytes of an unpacked stream."""
MAX_SLOW = 1024 * 1024
"""The most bytes of a stream that is unpacked byte by byte, before or after unpacking."""
_SMALL_PIECE = 64
"""The bytes that are inflated at once before damage. At most one such piece is lost."""
PROBLEMS = (
    PDFException, PSException, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError, zlib.error,
    AssertionError, OverflowError, NotImplementedError,
)  # fmt: skip
"""Exceptions that pdfminer raises for damaged files."""


def unpack(stream: PDFStream) -> bytes | None:
    """Return the content of a stream as far as it can be unpacked; None if it is too large."""
    data = stream.rawdata if stream.rawdata is not None else stream.data or b""
    try:
        if stream.decipher is not None and stream.objid is not None and stream.genno is not None:
            data = stream.decipher(stream.objid, stream.genno, data, stream.attrs)
        for name, parameters in stream.get_filters():
            result = _decode(data, name, parameters)
            if result is None or len(result) > MAX_STREAM:
                return None
            data = result
    except PROBLEMS:
        return data
    return data


def _decode(data: bytes, name: Any, parameters: Any) -> bytes | None:
    """Return data without a filter; None if it is too large. Data with an unknown filter is returned unchanged."""
    if name in LITERALS_FLATE_DECODE:
        return _undo_predictor(_inflate(data), parameters)
    if name in LITERALS_ASCII85_DECODE:
        return ascii85decode(data)
    if name in LITERALS_ASCIIHEX_DECODE:
        return asciihexdecode(data)
    if name in LITERALS_LZW_DECODE:
        return _undo_predictor(lzwdecode(data), parameters) if len(data) <= MAX_SLOW else None
    if name in LITERALS_RUNLENGTH_DECODE:
        return rldecode(data) if len(data) <= MAX_SLOW else None
    return data


def _inflate(data: bytes) -> bytes | None:
    """Return inflated data up to the first damage; None if it is too large."""
    unpacker, parts, size = zlib.decompressobj(), [], 0
    try:
        while data and size <= MAX_STREAM:
            parts.append(unpacker.decompress(data, MAX_STREAM + 1 - size))
            size += len(parts[-1])
            data = unpacker.unconsumed_tail
    except zlib.error:
        # PDFium uses the data before the damage, which this call has lost: inflate again, in small pieces.
        return _inflate_in_pieces(b"".join(parts), data)
    return b"".join(parts) if size <= MAX_STREAM else None


def _inflate_in_pieces(before: bytes, data: bytes) -> bytes | None:
    """Return ``before``, or if it is empty, inflated data up to the first damage; None if this is too large."""
    if before:
        return before
    unpacker, parts, size = zlib.decompressobj(), [], 0
    for start in range(0, len(data), _SMALL_PIECE):
        try:
            parts.append(unpacker.decompress(data[start : start + _SMALL_PIECE], MAX_STREAM))
        except zlib.error:
            break
        size += len(parts[-1])
        if size > MAX_STREAM:
            return None
    return b"".join(parts)


def _undo_predictor(data: bytes | None, parameters: Any) -> bytes | None:
    """Return data without its PNG predictor, which page content rarely has; None if it is too large."""
    if data is None or not isinstance(parameters, dict) or int_value(parameters.get("Predictor", 1)) < 10:
        return data
    if len(data) > MAX_SLOW:
        return None
    colors, columns = int_value(parameters.get("Colors", 1)), int_value(parameters.get("Columns", 1))
    return apply_png_predictor(10, colors, columns, int_value(parameters.get("BitsPerComponent", 8)), data)
