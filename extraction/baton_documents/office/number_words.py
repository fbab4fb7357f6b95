"""Formats of numbers in lists of Word and PowerPoint (ISO/IEC 29500-1 section 17.18.59)."""

from __future__ import annotations

from collections.abc import Callable

MAX_NUMBER = 32_767
"""The largest number that is shown in letters or signs, which are repeated the more often the larger a number is."""
_ROMAN = (
    (1000, "m"),
    (900, "cm"),
    (500, "d"),
    (400, "cd"),
    (100, "c"),
    (90, "xc"),
    (50, "l"),
    (40, "xl"),
    (10, "x"),
    (9, "ix"),
    (5, "v"),
    (4, "iv"),
    (1, "i"),
)
_UNITS = "zero|one|two|three|four|five|six|seven|eight|nine"
_TEENS = "ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen"
_ONES = f"{_UNITS}|{_TEENS}".split("|")
_TENS = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_ORDINALS = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
    "twelve": "twelfth",
}
_CHINESE = "〇一二三四五六七八九"
_CYRILLIC = "абвгдежзиклмнопрстуфхцчшщыэюя"
_SIGNS = "*†‡§"


def write_number(number: int, form: str) -> str:
    """Return a number in a format (``w:numFmt``); empty for the formats ``none`` and ``bullet``.

    The number is in digits if the format is unknown, or if the number is below 1 or above ``MAX_NUMBER``.
    """
    write = _FORMS.get(form)
    return write(number) if write is not None and 0 < number <= MAX_NUMBER else _NUMERIC.get(form, str)(number)


def _write_roman(number: int) -> str:
    text = ""
    for value, letters in _ROMAN:
        count, number = divmod(number, value)
        text += letters * count
    return text


def _make_letter_writer(alphabet: str) -> Callable[[int], str]:
    """Return a function that writes 1 as the first letter, and repeats a letter after the end of the alphabet."""

    def write(number: int) -> str:
        times, index = divmod(number - 1, len(alphabet))
        return alphabet[index] * (times + 1)

    return write


def _write_ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _write_cardinal(number: int) -> str:
    if number < 20:
        return _ONES[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return _TENS[tens] + (f"-{_ONES[ones]}" if ones else "")
    size, name = (100, "hundred") if number < 1000 else (1000, "thousand")
    count, rest = divmod(number, size)
    return f"{_write_cardinal(count)} {name}" + (f" {_write_cardinal(rest)}" if rest else "")


def _write_ordinal_word(number: int) -> str:
    text = _write_cardinal(number)
    start = max(text.rfind(" "), text.rfind("-")) + 1
    last = text[start:]
    return text[:start] + _ORDINALS.get(last, f"{last[:-1]}ieth" if last.endswith("y") else f"{last}th")


def _write_chinese(number: int) -> str:
    if number >= 100:
        return "".join(_CHINESE[int(digit)] for digit in str(number))
    tens, ones = divmod(number, 10)
    return (_CHINESE[tens] if tens > 1 else "") + ("十" if tens else "") + (_CHINESE[ones] if ones else "")


def _write_circled(number: int) -> str:
    return chr(0x245F + number) if number <= 20 else str(number)


_FORMS: dict[str, Callable[[int], str]] = {
    "upperRoman": lambda number: _write_roman(number).upper(),
    "lowerRoman": _write_roman,
    "upperLetter": _make_letter_writer("ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    "lowerLetter": _make_letter_writer("abcdefghijklmnopqrstuvwxyz"),
    "russianLower": _make_letter_writer(_CYRILLIC),
    "russianUpper": _make_letter_writer(_CYRILLIC.upper()),
    "ordinal": _write_ordinal,
    "cardinalText": lambda number: _write_cardinal(number).capitalize(),
    "ordinalText": lambda number: _write_ordinal_word(number).capitalize(),
    "hex": lambda number: f"{number:X}",
    "chicago": _make_letter_writer(_SIGNS),
    "decimalEnclosedCircle": _write_circled,
    "decimalEnclosedCircleChinese": _write_circled,
    "chineseCounting": _write_chinese,
    "chineseCountingThousand": _write_chinese,
    "japaneseCounting": _write_chinese,
    "ideographDigital": _write_chinese,
    "numberInDash": lambda number: f"- {number} -",
    "decimalEnclosedParen": lambda number: f"({number})",
    "decimalEnclosedFullstop": lambda number: f"{number}.",
}
_NUMERIC: dict[str, Callable[[int], str]] = {
    "decimalZero": lambda number: f"{number:02}",
    "none": lambda number: "",
    "bullet": lambda number: "",
}
