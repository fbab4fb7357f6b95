"""Formats of numbers in lists of Word and PowerPoint (ISO/IEC 29500-1 section 17.18.59)."""

from __future__ import annotations

from collections.abc import Callable

MAX_NUMBER = 32_767
"""The largest number that is not shown as digits, because letters are repeated for larger numbers."""
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


def number_text(number: int, form: str) -> str:
    """Return a number in a format (``w:numFmt``); as digits if the format is unknown or the number too large."""
    write = _FORMS.get(form)
    return write(number) if write is not None and 0 < number <= MAX_NUMBER else _NUMERIC.get(form, str)(number)


def _roman(number: int) -> str:
    text = ""
    for value, letters in _ROMAN:
        count, number = divmod(number, value)
        text += letters * count
    return text


def _letters(alphabet: str) -> Callable[[int], str]:
    def write(number: int) -> str:
        times, index = divmod(number - 1, len(alphabet))
        return alphabet[index] * (times + 1)

    return write


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _cardinal(number: int) -> str:
    if number < 20:
        return _ONES[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return _TENS[tens] + (f"-{_ONES[ones]}" if ones else "")
    size, name = (100, "hundred") if number < 1000 else (1000, "thousand")
    count, rest = divmod(number, size)
    return f"{_cardinal(count)} {name}" + (f" {_cardinal(rest)}" if rest else "")


def _ordinal_word(number: int) -> str:
    text = _cardinal(number)
    start = max(text.rfind(" "), text.rfind("-")) + 1
    last = text[start:]
    return text[:start] + _ORDINALS.get(last, f"{last[:-1]}ieth" if last.endswith("y") else f"{last}th")


def _chinese(number: int) -> str:
    if number >= 100:
        return "".join(_CHINESE[int(digit)] for digit in str(number))
    tens, ones = divmod(number, 10)
    return (_CHINESE[tens] if tens > 1 else "") + ("十" if tens else "") + (_CHINESE[ones] if ones else "")


def _circled(number: int) -> str:
    return chr(0x245F + number) if number <= 20 else str(number)


_FORMS: dict[str, Callable[[int], str]] = {
    "upperRoman": lambda number: _roman(number).upper(),
    "lowerRoman": _roman,
    "upperLetter": _letters("ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    "lowerLetter": _letters("abcdefghijklmnopqrstuvwxyz"),
    "russianLower": _letters(_CYRILLIC),
    "russianUpper": _letters(_CYRILLIC.upper()),
    "ordinal": _ordinal,
    "cardinalText": lambda number: _cardinal(number).capitalize(),
    "ordinalText": lambda number: _ordinal_word(number).capitalize(),
    "hex": lambda number: f"{number:X}",
    "chicago": _letters(_SIGNS),
    "decimalEnclosedCircle": _circled,
    "decimalEnclosedCircleChinese": _circled,
    "chineseCounting": _chinese,
    "chineseCountingThousand": _chinese,
    "japaneseCounting": _chinese,
    "ideographDigital": _chinese,
    "numberInDash": lambda number: f"- {number} -",
    "decimalEnclosedParen": lambda number: f"({number})",
    "decimalEnclosedFullstop": lambda number: f"{number}.",
}
_NUMERIC: dict[str, Callable[[int], str]] = {
    "decimalZero": lambda number: f"{number:02}",
    "none": lambda number: "",
    "bullet": lambda number: "",
}
