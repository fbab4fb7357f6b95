"""The encoding of a text that declares none, by its content."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from baton.domain.codec_gaps import RESTORED

if TYPE_CHECKING:
    from charset_normalizer import CharsetMatch

SAMPLE = 64 * 1024
"""Bytes that are looked at, from the first one on that is not ASCII."""
_GUESSED = 16 * 1024
"""Bytes that are compared with languages: more take tenths of a second."""
LATIN = "cp1252"
"""The commonest of the older encodings, and what browsers fall back to."""
_LATIN = (LATIN, "cp1250", "cp1254", "cp1257", "iso8859_2", "cp850", "mac_roman")
_OTHERS = (
    "gb18030", "big5hkscs", "cp932", "euc_jp", "cp949",
    "cp1251", "koi8_r", "koi8_u", "iso8859_5", "cp866", "mac_cyrillic",
    "cp1253", "iso8859_7", "cp1255", "iso8859_8", "cp1256", "iso8859_6", "cp874",
)  # fmt: skip
"""Of other scripts. Where several fit alike, the first does: few texts fit encodings of two bytes by accident."""
_COMMON = {"gb18030": 0xD7, "big5hkscs": 0xC6, "cp932": 0x97, "euc_jp": 0xCF, "cp949": 0xC8}
"""The first byte of the last common character: rare ones are behind them."""
_COMPARED = 2_000
_WIDE = ("utf-16-le", "utf-16-be")
_FEW = 3
"""Bytes beyond ASCII that identify no script."""
_DAMAGED = 50
"""Of so many characters, one may be damaged."""
_BETTER = 0.03
"""The least lead, of 1, in likeness to a language of another encoding over Windows-1252."""
_SHORT = 40
"""Bytes beyond ASCII. The frequencies of so few letters do not tell languages apart."""
_LEAST_UNSPACED = 6
"""Characters. Two letters of a shorter text may well be an ideograph."""

_BORDERS = re.compile(rb"[\x00-\x2f\x3a-\x3f]+")
"""Between words. None of these bytes is the second one of a character."""
_HIGH = re.compile(rb"[\x80-\xff]")
_HIGH_RUN = re.compile(rb"[\x80-\xff]{3,}")
_TAG = re.compile(rb"<[^<>]*>")
_NOT_LATIN = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
"""Bytes that are nothing in Windows-1252."""
_LOW = bytes(range(0x20))
"""The upper bytes of characters of alphabets in UTF-16."""
_DAMAGE = re.compile("\ufffd{1,4}")
"""The most that a lost or changed byte leaves of a character."""
_SIGNS = re.compile("[\u00a0\u00a1\u00a7\u00a9\u00ab\u00ae\u00b0\u00bb\u00bf\u2010-\u203a\u20ac\u2122]")
"""Quotes, dashes and other signs that texts in Windows-1252 have."""
_WESTERN = tuple(
    re.compile(f"(?:[\x00-\x7f]|{letters})*", re.IGNORECASE)
    for letters in (
        "[àâçéèêëîïôùûü]|œ(?=[ieu])",  # French
        "[äöüßé]",  # German
        "[áéíñóúü]",  # Spanish
        "[áâàçéêíóôúü]|ã(?=[eo])|õ(?=e)",  # Portuguese
        "[àèéìòù](?![a-zà-ÿ])",  # Italian: at the end of words
        "[åäöæøé]",  # Scandinavian languages
    )
)
"""Letters of one language each. Short texts in encodings of Eastern Europe seldom have no others."""
_RARE = frozenset({"Cn", "Co", "Cs", "Cc"})
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3000-\u30ff\u4e00-\u9fff\uff00-\uffef]")
"""Scripts of texts that may have neither blanks nor line ends, whose UTF-16 has no byte that is zero."""
_HANGUL = re.compile("[\uac00-\ud7a3]")
_SPACED = re.compile("[\t\n\r -~\u00a0-\u00ff\u2010-\u203a]")
"""Other characters of texts in ideographs or Hangul."""


def detected(body: bytes) -> str:
    """Return Python's name of the encoding that a text is most probably in."""
    if (wide := _wide(body)) is not None:
        return wide
    if b"\x1b$" in body[:SAMPLE] and _is_japanese(body[:SAMPLE]):
        return "iso2022_jp_ext"
    if is_utf8(body):
        return "utf-8"
    first = _HIGH.search(body)
    start = first.start() if first is not None else 0
    sample = body[start : start + SAMPLE]
    return "utf-8" if _is_damaged_utf8(sample) else _guessed(sample[:_GUESSED])


def is_utf8(body: bytes) -> bool:
    """Return whether all of a text is UTF-8."""
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def counted(text: str) -> tuple[int, int]:
    """Return the number of places of a text that could not be decoded, and of characters beyond ASCII that could."""
    wrong = len(_DAMAGE.findall(text))
    return wrong, sum(not char.isascii() for char in text) - text.count("\ufffd")


def _is_japanese(sample: bytes) -> bool:
    text = sample.decode("iso2022_jp_ext", RESTORED)
    wrong, right = counted(text)
    return right > 0 and wrong <= max(1, right // _DAMAGED)


def _is_damaged_utf8(sample: bytes) -> bool:
    """Return whether a text is UTF-8 apart from some bytes. In other encodings, few characters are so by accident."""
    text = sample.decode("utf-8", "replace")
    wrong, right = counted(text)
    return wrong * 2 <= right or (wrong == right == 1 and not _HIGH_RUN.search(sample))


def _wide(body: bytes) -> str | None:
    """Return the UTF-32 or UTF-16 of a text without a byte order mark."""
    sample = body[: SAMPLE // 4 * 4]
    size = len(sample) // 4
    if size:
        # Of each character of UTF-32, one byte is zero and the next at most 16.
        for codec, zeros, planes in (
            ("utf-32-le", sample[3::4], sample[2::4]),
            ("utf-32-be", sample[::4], sample[1::4]),
        ):
            if zeros.count(0) >= size * 0.98 and max(planes) <= 0x10 and _is_text(sample, codec):
                return codec
    found = [codec for codec in _WIDE if _is_alphabetic(body[:SAMPLE], codec) and _is_text(body[:SAMPLE], codec)]
    if not found and not is_utf8(body):
        found = [codec for codec in _WIDE if _is_ideographic(body[:SAMPLE], codec)]
    # In the wrong order, characters of one script are of many.
    return min(found, key=lambda codec: len(set(_upper_bytes(body[:SAMPLE], codec))), default=None)


def _upper_bytes(sample: bytes, codec: str) -> bytes:
    return sample[int(codec == "utf-16-le") : len(sample) // 2 * 2 : 2]


def _is_alphabetic(sample: bytes, codec: str) -> bool:
    """Return whether a text may be UTF-16 of an alphabet: all of these are among the first 8,192 characters."""
    upper = _upper_bytes(sample, codec)
    lower = _upper_bytes(sample, _WIDE[codec == _WIDE[0]])
    of_upper, of_lower = (len(each) - len(each.translate(None, _LOW)) for each in (upper, lower))
    return of_upper >= max(1, len(upper) * 0.8) and of_lower < of_upper


def _is_text(sample: bytes, codec: str) -> bool:
    """Return whether next to all characters are assigned ones."""
    unit = 4 if codec.startswith("utf-32") else 2
    text = sample[: len(sample) // unit * unit].decode(codec, "replace")
    rare = sum(char == "\ufffd" or (unicodedata.category(char) in _RARE and char not in "\t\n\r\f") for char in text)
    return rare * _DAMAGED <= len(text)


def _is_ideographic(sample: bytes, codec: str) -> bool:
    """Return whether a text is UTF-16 of a script with many characters."""
    even = sample[: len(sample) // 2 * 2]
    text = even.decode(codec, "replace")
    of_script = len(_UNSPACED.findall(text))
    hangul = len(_HANGUL.findall(text))
    if len(text) - of_script - hangul - len(_SPACED.findall(text)) > len(text) // _DAMAGED:
        return False
    if b"\0" in even:
        return any(char.isascii() for char in text)
    if max(of_script, hangul) < max(len(text), _LEAST_UNSPACED):
        return False
    best = _matches(even, (codec, *_OTHERS, LATIN))
    return bool(best) and best[0].encoding.replace("_", "-") == codec


def _guessed(sample: bytes) -> str:
    """Return the encoding of a text by its words that are not ASCII, whatever markup is between them."""
    words = [word for word in _BORDERS.split(sample) if not word.isascii()]
    if len(sample) == _GUESSED and len(words) > 1:
        words.pop()  # half of it, perhaps
    text = b" ".join(words)
    high = len(_HIGH.findall(text))
    in_runs = sum(map(len, _HIGH_RUN.findall(text)))
    share = high / max(1, len(text) - len(words) + 1)
    if high <= _SHORT and not in_runs and _is_western(text):
        return LATIN
    if share < 0.55 or (in_runs * 2 < high and (high <= _FEW or share < 0.7)):
        return _guessed_latin(_TAG.sub(b" ", sample)) if high > _FEW else LATIN
    return _guessed_other(text)


def _is_western(words: bytes) -> bool:
    """Return whether words have, read as Windows-1252, the letters of one language, and usual signs."""
    if _NOT_LATIN.search(words):
        return False
    text = _SIGNS.sub("", words.decode(LATIN))
    return any(each.fullmatch(text) for each in _WESTERN)


def _guessed_latin(text: bytes) -> str:
    damage = _NOT_LATIN.findall(text)
    if len(damage) * 10 < len(_HIGH.findall(text)):
        text = _NOT_LATIN.sub(b"", text)
    matches = _matches(text, _LATIN)
    standard = next((match for match in matches if LATIN in match.could_be_from_charset), None)
    if standard is None:
        return matches[0].encoding if matches else LATIN
    as_tidy = [match for match in matches if match.chaos <= standard.chaos + _BETTER]
    likest = max(as_tidy, key=lambda match: match.coherence)
    return likest.encoding if likest.coherence > standard.coherence + _BETTER else LATIN


def _guessed_other(text: bytes) -> str:
    """Return the encoding of a text in another script. It is tried without damage too, for which no encoding fits."""
    likely = tuple(encoding for encoding in _OTHERS if _has_common_characters(text, encoding))
    found = [(best.chaos, -best.coherence, False, best.encoding) for best in _matches(text, likely)[:1]]
    for encoding in likely:
        mended = _mended(text, encoding)
        matches = _matches(mended, likely) if mended is not None else []
        found += [
            (match.chaos, -match.coherence, True, encoding)
            for match in matches
            if match.encoding == encoding and match.chaos <= matches[0].chaos
        ]
    return min(found, key=lambda each: (*each[:3], _OTHERS.index(each[3])))[3] if found else LATIN


def _has_common_characters(text: bytes, encoding: str) -> bool:
    """Return whether half of the characters at least are the common ones of an encoding of two bytes."""
    last = _COMMON.get(encoding)
    if last is None:
        return True
    chars = [char for char in text[:_COMPARED].decode(encoding, "ignore") if not char.isascii()]
    return sum(char.encode(encoding)[0] <= last for char in chars) * 2 >= len(chars) > 0


def _mended(text: bytes, encoding: str) -> bytes | None:
    """Return a text without what cannot be decoded; None if that is nothing, or too much for damage."""
    try:
        text.decode(encoding)
    except UnicodeDecodeError:
        decoded = text.decode(encoding, RESTORED if encoding == "euc_jp" else "replace")
        if counted(decoded)[0] > max(1, len(decoded) // _DAMAGED):
            return None
        return decoded.replace("\ufffd", "").encode(encoding, "ignore")
    return None


def _matches(text: bytes, encodings: tuple[str, ...]) -> list[CharsetMatch]:
    """Return the encodings that may be a text's, the likeliest first."""
    from charset_normalizer import from_bytes

    # The library adds encodings of which it thinks that they are declared, or that everything is in them.
    found = from_bytes(text, cp_isolation=list(encodings), preemptive_behaviour=False, enable_fallback=False)
    return [match for match in found if match.encoding in encodings or match.encoding.replace("_", "-") in encodings]
