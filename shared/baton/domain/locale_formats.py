"""Dates, times, numbers and amounts of money as people of a language write them.

These are the languages of the chat widget, and French. Other languages get the forms of ISO 8601 and 4217.
``strftime`` is not used because it depends on the locale of the machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation

_SYMBOLS: Mapping[str, str] = {"EUR": "€", "USD": "$", "GBP": "£", "JPY": "¥", "INR": "₹"}
_DECIMALS: Mapping[str, int] = {
    **dict.fromkeys(("CLP", "ISK", "JPY", "KRW", "PYG", "UGX", "VND", "VUV", "XAF", "XOF", "XPF"), 0),
    **dict.fromkeys(("BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"), 3),
}
"""Decimal places of the currencies that do not have 2 (ISO 4217)."""
MAX_DIGITS = 25
"""The most characters of an amount that is written as money. Longer numbers are not treated as amounts."""


@dataclass(frozen=True, slots=True)
class LocaleFormat:
    """The forms of one language."""

    months: tuple[str, ...] = ()
    weekdays: tuple[str, ...] = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
    date_form: str = "{year:04}-{month:02}-{day:02}"
    decimal: str = "."
    group: str = ""
    money: str = "{number} {currency}"
    yes: str = "✓"
    no: str = "✗"

    def format_day(self, day: date) -> str:
        """Return a date, with the name of its month if the language is known."""
        name = self.months[day.month - 1] if self.months else ""
        return self.date_form.format(year=day.year, month=day.month, day=day.day, name=name)

    def format_weekday(self, day: date) -> str:
        """Return the name of a day of the week, in English if the language is not known."""
        return self.weekdays[day.weekday()]

    def format_clock(self, moment: time | datetime) -> str:
        """Return the time of day: hours and minutes, and seconds if there are any."""
        return moment.strftime("%H:%M:%S" if moment.second else "%H:%M")

    def format_number(self, value: int | float) -> str:
        """Return a number with all its digits, not grouped, because it may be a year or an id.

        A float that Python writes with an exponent stays in that form.
        """
        text = repr(value)
        return text if isinstance(value, int) or "e" in text else text.replace(".", self.decimal)

    def format_amount(self, value: object, currency: str, *, is_minor: bool = False) -> str | None:
        """Return an amount of money, never rounded; None if ``value`` is too long or no finite number.

        ``is_minor``: ``value`` is in the smallest unit of the currency, such as cents.
        """
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            return None
        digits = repr(value) if not isinstance(value, str) else value.strip()
        try:
            exact = Decimal(digits) if len(digits) <= MAX_DIGITS else None
        except InvalidOperation:
            return None
        if exact is None or not exact.is_finite() or abs(exact.adjusted()) > MAX_DIGITS:
            return None
        places = _DECIMALS.get(currency, 2)
        if is_minor:
            exact = exact.scaleb(-places)
        digits_after = max(places, -int(exact.normalize().as_tuple().exponent))
        whole, _, fraction = f"{abs(exact):,.{digits_after}f}".partition(".")
        number = whole.replace(",", self.group) + (self.decimal + fraction if fraction else "")
        form = self.money if currency in _SYMBOLS else "{number} {currency}"
        sign = "\u2212" if exact < 0 else ""
        return sign + form.format(number=number, currency=_SYMBOLS.get(currency, currency))


def _split_names(names: str) -> tuple[str, ...]:
    return tuple(names.split())


_ENGLISH = LocaleFormat(
    _split_names("January February March April May June July August September October November December"),
    date_form="{day} {name} {year}",
    group=",",
    money="{currency}{number}",
    yes="yes",
    no="no",
)
_COMMA = LocaleFormat(decimal=",", group=".", money="{number}\u00a0{currency}")
_FORMATS: Mapping[str, LocaleFormat] = {
    "en": _ENGLISH,
    "en-US": replace(_ENGLISH, date_form="{name} {day}, {year}"),
    "de": replace(
        _COMMA,
        months=_split_names("Januar Februar März April Mai Juni Juli August September Oktober November Dezember"),
        weekdays=_split_names("Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag"),
        date_form="{day}. {name} {year}",
        yes="ja",
        no="nein",
    ),
    "es": replace(
        _COMMA,
        months=_split_names("enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"),
        weekdays=_split_names("lunes martes miércoles jueves viernes sábado domingo"),
        date_form="{day} de {name} de {year}",
        yes="sí",
        no="no",
    ),
    "fr": replace(
        _COMMA,
        months=_split_names("janvier février mars avril mai juin juillet août septembre octobre novembre décembre"),
        weekdays=_split_names("lundi mardi mercredi jeudi vendredi samedi dimanche"),
        date_form="{day} {name} {year}",
        group="\u202f",
        yes="oui",
        no="non",
    ),
    "zh": replace(
        _ENGLISH,
        months=_split_names("1 2 3 4 5 6 7 8 9 10 11 12"),
        weekdays=_split_names("星期一 星期二 星期三 星期四 星期五 星期六 星期日"),
        date_form="{year}年{name}月{day}日",
        yes="是",
        no="否",
    ),
    "ar": replace(
        _ENGLISH,
        months=_split_names("يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر"),
        weekdays=_split_names("الاثنين الثلاثاء الأربعاء الخميس الجمعة السبت الأحد"),
        money="{number}\u00a0{currency}",
        yes="نعم",
        no="لا",
    ),
}
_ISO_FORMAT = LocaleFormat()


def find_format(locale: str) -> LocaleFormat:
    """Return the forms of a locale, or else of its language, or else the ISO forms."""
    return _FORMATS.get(locale) or _FORMATS.get(locale.split("-")[0]) or _ISO_FORMAT
