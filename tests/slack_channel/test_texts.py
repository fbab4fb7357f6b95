"""Texts fit Slack and mention nobody."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton_slack.blocks import make_approval_blocks, make_message_pages
from baton_slack.mrkdwn import escape, from_markdown, split, to_plain
from tests.slack_channel.message_checks import check_message

Json = dict[str, Any]


@given(st.text(alphabet=st.sampled_from("ab<>&!@#*`[](): \n|h") | st.characters(), max_size=9_000), st.booleans())
def test_any_text_fits_slack_and_mentions_nobody(text: str, is_markdown: bool) -> None:
    text += " <!channel> <@U0ANNA> **<!here>** [<!everyone>](https://a.example) https://b.example/?a=1&b=2"
    for blocks in make_message_pages("<!channel>", text, is_markdown=is_markdown):
        check_message({"text": escape(text)[:100].replace("@", ""), "blocks": blocks, "parse": "none"})


@given(st.text(max_size=2_000))
def test_no_character_is_lost_between_the_pieces(text: str) -> None:
    assert "".join("".join(split(text, limit=40)).split()) == "".join(escape(text).split())


def test_the_work_to_divide_a_long_text_is_linear() -> None:
    rendered = 0

    def render(text: str) -> str:
        nonlocal rendered
        rendered += len(text)
        return from_markdown(text)

    text = "A word **and** more. " * 10_000
    assert len(list(split(text, render))) > 60
    assert rendered < 20 * len(text)


def test_markup_is_translated_both_ways() -> None:
    assert from_markdown("# Lamps\n**Blue** & [more](https://a.example) `x<y`") == (
        "*Lamps*\n*Blue* &amp; <https://a.example|more> `x&lt;y`"
    )
    assert to_plain("<@U1|anna> &lt;b&gt; <https://a.example|here> <mailto:a@b.c|a@b.c> <!here>") == (
        "@anna <b> here (https://a.example) a@b.c @here"
    )


@pytest.mark.parametrize("argument", ["x" * 20_000, "&" * 2_500])
def test_calls_that_do_not_fit_have_no_button(argument: str) -> None:
    blocks, can_decide = make_approval_blocks([("Delete?", ["page: " + argument])], "t", "r")
    assert not can_decide
    assert "baton_approve" not in json.dumps(blocks)
