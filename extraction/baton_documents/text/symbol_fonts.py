"""Unicode characters for the codes of symbol fonts, whose characters are pictures.

Boxes of all kinds become ``☐``, ``☑`` and ``☒``, so that ticked and unticked boxes differ in the same way in all fonts.
The other characters are the Unicode Standard's for Wingdings (version 7) and Symbol.
"""

from __future__ import annotations

MARKS = frozenset("☐☑☒✓✗")
"""Bullets with a meaning, which are shown as the number of a list item."""
_UNKNOWN = "\ufffd"
_PRIVATE = range(0xF000, 0xF100)
"""The private characters with which Office stores the codes of symbol fonts."""

_SYMBOL = dict(
    zip(
        (*range(0x20, 0x7F), *range(0xA0, 0xFF)),
        " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼"  # noqa: RUF001
        "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊⟨®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪\ufffd⟩∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭",  # noqa: RUF001
        strict=True,
    )
)
_WINGDINGS = dict(
    zip(
        range(0x20, 0x100),
        " 🖉✂✁👓🕭🕮🕯🕿✆🖂🖃📪📫📬📭🗀🗁🗎🗏🗐🗄⌛🖮🖰🖲🖳🖴🖫🖬✇✍🖎✌👌👍👎☜☞☝☟🖐☺😐☹💣☠🏳🏱✈☼💧❄🕆✞🕈✠✡☪☯ॐ☸"
        "♈♉♊♋♌♍♎♏♐♑♒♓🙰🙵●🔾■☐☐☐☐⬧⧫◆❖⬥☒⮹⌘🏵🏶🙶🙷\ufffd⓪①②③④⑤⑥⑦⑧⑨⑩⓿❶❷❸❹❺❻❼❽❾❿🙢🙠🙡🙣🙞🙜🙝🙟·•⬝○◉◎🞊🞋🔿▪☐"
        "🟂🟆★🟋🟏🟓🟑⯐⌖⯎⯏⯑✪✰🕐🕑🕒🕓🕔🕕🕖🕗🕘🕙🕚🕛⮰⮱⮲⮳⮴⮵⮶⮷🙪🙫🙕🙔🙗🙖🙐🙑🙒🙓⌫⌦⮘⮚⮙⮛⮈⮊⮉⮋←→↑↓↖↗↙↘←→↑↓↖↗↙↘"
        "⇦⇨⇧⇩⬄⇳⬀⬁⬃⬂▭▫✗✓☒☑\ufffd",
        strict=True,
    )
)
_WINGDINGS_2 = {
    **dict(zip(range(0x4F, 0x59), "✗✓☒☑☒☒⊗⊗⃠⦸", strict=True)),
    **dict(zip(range(0x69, 0x7F), "⓪①②③④⑤⑥⑦⑧⑨⑩⓿❶❷❸❹❺❻❼❽❾❿", strict=True)),
    **dict(zip(range(0x95, 0x9F), "·•●●●○○○◉◉", strict=True)),
    **dict(zip(range(0x9F, 0xA7), "•▪▪■☐☐☐☐", strict=True)),
    0x20: " ",
}
_WINGDINGS_3 = dict(zip(range(0x21, 0x29), "←→↑↓↖↗↙↘", strict=True)) | {
    0x20: " ",
    0x70: "▲",
    0x71: "▼",
    0x74: "◀",
    0x75: "▶",
    0x7D: "▶",
}
_WEBDINGS = {
    0x20: " ",
    0x33: "◀",
    0x34: "▶",
    0x35: "▲",
    0x36: "▼",
    0x61: "✓",
    0x63: "☐",
    0x67: "■",
    0x69: "ℹ",  # noqa: RUF001
    0x6E: "●",
    0x72: "✗",
}
_FONTS = {
    "symbol": _SYMBOL,
    "wingdings": _WINGDINGS,
    "wingdings 2": _WINGDINGS_2,
    "wingdings 3": _WINGDINGS_3,
    "webdings": _WEBDINGS,
}


def is_symbol_font(font: str | None) -> bool:
    """Return whether a font is a symbol font."""
    return (font or "").strip().lower() in _FONTS


def decode_symbols(text: str, font: str | None) -> str:
    """Return the Unicode text that a text in a symbol font shows. In other fonts, only private characters are replaced.

    U+FFFD stands for characters without an equivalent.
    """
    table = _FONTS.get((font or "").strip().lower())
    if table is None:
        if not any(ord(letter) in _PRIVATE for letter in text):
            return text
        return "".join(
            _SYMBOL.get(ord(letter) & 0xFF, _UNKNOWN) if ord(letter) in _PRIVATE else letter for letter in text
        )
    return "".join(table.get(_find_code(letter), _UNKNOWN) for letter in text)


def decode_symbol(code: str, font: str | None) -> str:
    """Return the character of a hexadecimal code in a font; empty if the text is not a code."""
    try:
        return decode_symbols(chr(int(code, 16)), font)
    except (ValueError, OverflowError):
        return ""


def _find_code(character: str) -> int:
    """Return the code of a symbol font that a character of Office stands for."""
    number = ord(character)
    if number in _PRIVATE:
        return number & 0xFF
    if number < 0x100:
        return number
    # Office stores some codes as the characters of Windows-1252.
    return character.encode("cp1252", "replace")[0]
