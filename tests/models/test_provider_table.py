"""The table of providers names tests that exist."""

from __future__ import annotations

import re

from baton_local.root import ROOT
from tests.models.families import CHAT, CONVERSE, RESPONSES

PAGE = ROOT / "docs" / "how-to" / "use-your-own-model.md"
TESTS = {
    *(f"test_chat_completions[{family.dialect} {family.model}]" for family in CHAT),
    *(f"test_responses[{family.dialect} {family.model}]" for family in RESPONSES),
    *(f"test_converse[{name}]" for name in CONVERSE),
}


def test_each_test_that_the_table_names_exists() -> None:
    named = set(re.findall(r"`(test_\w+\[[^`]+\])`", PAGE.read_text()))
    assert len(named) > 20
    assert named <= TESTS


def test_each_provider_whose_facts_are_tested_is_in_the_table() -> None:
    page = PAGE.read_text()
    hosts = {family.host for family in (*CHAT, *RESPONSES) if family.host not in (None, "api.openai.com")}
    assert all(str(host).removeprefix("acme.") in page for host in hosts)
