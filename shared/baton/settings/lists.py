"""Comma-separated lists as values of settings."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator

from baton.domain.egress_policy import HOST_ENTRY
from baton.domain.source import PREFIX_ENTRY

PACKAGE = r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*"
ORIGIN = r"\*|https?://[A-Za-z0-9._-]+(:[0-9]{1,5})?|https?://\[[0-9A-Fa-f:]+\](:[0-9]{1,5})?"
"""A browser's ``Origin``: scheme, host, and the port if it is not the scheme's default; no path, no slash."""


def _list_of(entry: str, wanted: str) -> AfterValidator:
    """Return a validator of a comma-separated list of ``entry``. It drops white space around entries.

    An empty or invalid entry is an error. A shell makes ``"a,"`` of ``a, b`` without quotes, and half a list that is
    taken for the whole list would be noticed too late.
    """

    def check(text: str) -> str:
        entries = [each.strip() for each in text.split(",")]
        if entries == [""]:
            return ""
        for each in entries:
            if re.fullmatch(entry, each) is None:
                what = f"{each!r} is none of them" if each else "an entry is empty; is a list with spaces in quotes?"
                raise ValueError(f"must be {wanted}, separated by commas: {what}")
        return ",".join(entries)

    return AfterValidator(check)


Hosts = Annotated[
    str, _list_of(HOST_ENTRY, "hosts (api.example.com, *.example.com for subdomains, * for every public host)")
]
Regions = Annotated[str, _list_of(r"[A-Z]{2}", "ISO codes of countries (DE)")]
Prefixes = Annotated[str, _list_of(PREFIX_ENTRY, "prefixes with the tenant in them (bucket/handbooks/{tenant}/)")]
Packages = Annotated[str, _list_of(PACKAGE, "names of Python packages")]
Origins = Annotated[str, _list_of(ORIGIN, "origins of web pages (https://app.example.com, without a path; * for any)")]
