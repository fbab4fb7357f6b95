"""Sizes of images, read from their first bytes."""

from __future__ import annotations

import struct

import pytest

from baton.adapters.models.bedrock.media import read_image_size

JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + b"\x00" * 9 + b"\xff\xff\xc2\x00\x11\x08" + struct.pack("!HH", 600, 800)
IMAGES = {
    "png": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + struct.pack("!II", 800, 600),
    "gif": b"GIF89a" + struct.pack("<HH", 800, 600),
    "jpeg": JPEG,
    "webp lossy": b"RIFF\x00\x00\x00\x00WEBPVP8 " + b"\x00" * 10 + struct.pack("<HH", 800, 600),
    "webp lossless": b"RIFF\x00\x00\x00\x00WEBPVP8L" + b"\x00" * 4 + b"\x2f" + (799 | 599 << 14).to_bytes(4, "little"),
    "webp extended": b"RIFF\x00\x00\x00\x00WEBPVP8X"
    + b"\x00" * 8
    + (799).to_bytes(3, "little")
    + (599).to_bytes(3, "little"),
}


@pytest.mark.parametrize("name", IMAGES)
def test_the_width_and_height_are_read(name: str) -> None:
    assert read_image_size(IMAGES[name]) == (800, 600)


@pytest.mark.parametrize("name", IMAGES)
def test_of_a_piece_of_an_image_nothing_is_known(name: str) -> None:
    assert {read_image_size(IMAGES[name][:end]) for end in range(len(IMAGES[name]))} == {None}


@pytest.mark.parametrize("data", [b"", b"%PDF-1.7", b"\xff\xd8\xff\xd9", b"RIFF\x00\x00\x00\x00WEBPVP9 "])
def test_of_anything_else_nothing_is_known(data: bytes) -> None:
    assert read_image_size(data) is None
