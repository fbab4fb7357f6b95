"""Detection of the encoding of a text that declares none, and characters that Python's codecs lack."""

from __future__ import annotations

import codecs
import re
import unicodedata

RESTORED = "baton-codec-gaps"
"""The name of an error handler. It decodes characters that codecs lack, and everything else becomes U+FFFD."""


def _restore(error: UnicodeError) -> tuple[str, int]:
    """Return a character that a codec lacks, or U+FFFD, and the place at which decoding continues."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    if error.encoding == "gb18030" and error.object[error.start] == 0x80:
        return "\u20ac", error.start + 1
    pair = error.object[error.start : error.start + 2]
    row, cell = (byte & 0x7F for byte in pair) if len(pair) == 2 else (0, 0)
    has_high_bits = error.encoding == "euc_jp"
    if (
        len(pair) == 2
        and all((byte > 0x7F) == has_high_bits for byte in pair)
        and all(0x21 <= number <= 0x7E for number in (row, cell))
    ):
        try:
            return _encode_shift_jis(row - 0x20, cell - 0x20).decode("cp932"), error.start + 2
        except UnicodeDecodeError:
            pass
    return "\ufffd", error.end


def _encode_shift_jis(row: int, cell: int) -> bytes:
    """Return the Shift JIS bytes of a character, given its row and cell in JIS X 0208 (both from 1)."""
    lead = (row - 1) // 2 + (0x81 if row <= 62 else 0xC1)
    trail = cell + 0x9E if row % 2 == 0 else cell + 0x3F + (cell > 63)
    return bytes((lead, trail))


codecs.register_error(RESTORED, _restore)


SAMPLE = 64 * 1024
"""The number of bytes that are examined, from the first one that is not ASCII."""
LATIN = "cp1252"
"""The commonest of the older encodings, and the default of browsers."""
_CODECS = {
    # Encodings in which browsers decode more characters than Python's codec of that name does.
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc-kr": "cp949",
    # Names that Python does not know.
    "iso-8859-8-i": "iso8859_8",
    "x-mac-cyrillic": "mac_cyrillic",
}
_OF_TWO_BYTES = frozenset({"gb18030", "big5hkscs", "cp932", "euc_jp", "cp949"})
_WIDE = ("utf-16-le", "utf-16-be")
_DAMAGED = 50
"""One of this many characters may be damaged."""
_LEAST_UNSPACED = 6
"""The fewest characters of a text in UTF-16 without spaces. Pairs of ASCII letters look like ideographs too."""

_HIGH = re.compile(rb"[\x80-\xff]")
_HIGH_RUN = re.compile(rb"[\x80-\xff]{3,}")
_NOT_PLAIN = re.compile(rb"[^\t\n\f\r -~]")
_LOW = bytes(range(0x20))
"""The upper bytes of alphabets' characters in UTF-16."""
_DAMAGE = re.compile("\ufffd{1,4}")
"""The replacement characters that one lost or changed byte may cause."""
_SIGNS = re.compile("[\u00a0-\u00bf\u2010-\u203a\u20ac\u2122]")
"""Quotes, dashes and other signs that are common in Windows-1252."""
_RARE = frozenset({"Cn", "Co", "Cs", "Cc"})
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3000-\u30ff\u4e00-\u9fff\uff00-\uffef]")
"""Characters of scripts whose texts may have neither spaces nor line ends, and so no zero byte in UTF-16."""
_HANGUL = re.compile("[\uac00-\ud7a3]")
_SPACED = re.compile("[\t\n\r -~\u00a0-\u00ff\u2010-\u203a]")
"""Other characters that occur in texts in ideographs or Hangul."""


def detect_encoding(body: bytes) -> str:
    """Return Python's name of the most probable encoding of a text. ASCII alone is ``utf-8``."""
    if (wide := _find_wide_codec(body)) is not None:
        return wide
    if b"\x1b$" in body[:SAMPLE] and _is_japanese(body[:SAMPLE]):
        return "iso2022_jp_ext"
    if is_utf8(body):
        return "utf-8"
    first = _HIGH.search(body)
    start = first.start() if first is not None else 0
    sample = body[start : start + SAMPLE]
    return "utf-8" if _is_damaged_utf8(sample) else _guess(sample)


def is_utf8(body: bytes) -> bool:
    """Return whether the whole text is valid UTF-8."""
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def count_characters(text: str) -> tuple[int, int]:
    """Return two numbers: of places in a text that could not be decoded, and of decoded characters beyond ASCII."""
    wrong = len(_DAMAGE.findall(text))
    return wrong, sum(not char.isascii() for char in text) - text.count("\ufffd")


def _is_japanese(sample: bytes) -> bool:
    """Return whether a text is ISO-2022-JP, apart from some bytes."""
    text = sample.decode("iso2022_jp_ext", RESTORED)
    wrong, right = count_characters(text)
    return right > 0 and wrong <= max(1, right // _DAMAGED)


def _is_damaged_utf8(sample: bytes) -> bool:
    """Return whether a text is UTF-8 apart from some bytes. Texts in other encodings rarely contain valid UTF-8."""
    text = sample.decode("utf-8", "replace")
    wrong, right = count_characters(text)
    return wrong * 2 <= right or (wrong == right == 1 and not _HIGH_RUN.search(sample))


def _find_wide_codec(body: bytes) -> str | None:
    """Return the codec of a text in UTF-32 or UTF-16 without a byte order mark; None for other encodings."""
    if not _NOT_PLAIN.search(body[:SAMPLE]):  # line ends alone look like the upper bytes of an alphabet
        return None
    sample = body[: SAMPLE // 4 * 4]
    size = len(sample) // 4
    if size:
        # In UTF-32, the highest byte of each character is zero, and the next one is at most 16.
        for codec, zeros, planes in (
            ("utf-32-le", sample[3::4], sample[2::4]),
            ("utf-32-be", sample[::4], sample[1::4]),
        ):
            if zeros.count(0) >= size * 0.98 and max(planes) <= 0x10 and _is_text(sample, codec):
                return codec
    names = [codec for codec in _WIDE if _is_alphabetic(body[:SAMPLE], codec) and _is_text(body[:SAMPLE], codec)]
    if not names and not is_utf8(body):
        names = [codec for codec in _WIDE if _is_ideographic(body[:SAMPLE], codec)]
    # In the wrong byte order, the characters of one script seem to belong to many scripts.
    return min(names, key=lambda codec: len(set(_take_upper_bytes(body[:SAMPLE], codec))), default=None)


def _take_upper_bytes(sample: bytes, codec: str) -> bytes:
    """Return the upper bytes of the code units of a text in UTF-16."""
    return sample[int(codec == "utf-16-le") : len(sample) // 2 * 2 : 2]


def _is_alphabetic(sample: bytes, codec: str) -> bool:
    """Return whether a text may be UTF-16 of an alphabet. All alphabets are among the first 8,192 code points."""
    upper = _take_upper_bytes(sample, codec)
    lower = _take_upper_bytes(sample, _WIDE[codec == _WIDE[0]])
    upper_low, lower_low = (len(column) - len(column.translate(None, _LOW)) for column in (upper, lower))
    return upper_low >= max(1, len(upper) * 0.8) and lower_low < upper_low


def _is_text(sample: bytes, codec: str) -> bool:
    """Return whether nearly all characters are assigned ones."""
    unit = 4 if codec.startswith("utf-32") else 2
    text = sample[: len(sample) // unit * unit].decode(codec, "replace")
    rare = sum(char == "\ufffd" or (unicodedata.category(char) in _RARE and char not in "\t\n\r\f") for char in text)
    return rare * _DAMAGED <= len(text)


def _is_ideographic(sample: bytes, codec: str) -> bool:
    """Return whether a text is UTF-16 of ideographs, Hangul or a script without spaces."""
    even = sample[: len(sample) // 2 * 2]
    text = even.decode(codec, "replace")
    unspaced = len(_UNSPACED.findall(text))
    hangul = len(_HANGUL.findall(text))
    if len(text) - unspaced - hangul - len(_SPACED.findall(text)) > len(text) // _DAMAGED:
        return False
    if b"\0" in even:
        return any(char.isascii() for char in text)
    if max(unspaced, hangul) < max(len(text), _LEAST_UNSPACED):
        return False
    guess = _guess(even)
    # Texts in encodings of two bytes look like Hangul if they are decoded as UTF-16.
    return guess not in _OF_TWO_BYTES or "\ufffd" in even.decode(guess, "replace")


def _guess(sample: bytes) -> str:
    """Return the encoding that Firefox's detector (chardetng) guesses, by pairs of letters."""
    if _SIGNS.sub("", sample.decode(LATIN, "replace")).isascii():
        return LATIN  # the text has signs but no letters beyond ASCII
    from chardetng_py import EncodingDetector

    detector = EncodingDetector()
    detector.feed(sample, last=True)
    name = detector.guess(tld=None, allow_utf8=False).lower()
    return _CODECS.get(name) or codecs.lookup(name).name
