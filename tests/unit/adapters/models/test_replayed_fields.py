"""Fields of a message that its endpoint wants back, joined from the pieces of a stream."""

from __future__ import annotations

from typing import Any

from baton.adapters.models.openai.replayed_fields import MAX_ENTRIES, ReplayedFields


def join(*deltas: dict[str, Any]) -> dict[str, Any]:
    fields = ReplayedFields(("reasoning_details", "extra_content", "reasoning"))
    for delta in deltas:
        fields.take(delta)
    return fields.joined


def details(**entry: Any) -> dict[str, Any]:
    return {"reasoning_details": [{"type": "reasoning.text", **entry}]}


def test_pieces_of_an_entry_are_joined_and_its_signature_stays_with_it() -> None:
    assert join(
        details(index=0, text="One "),
        details(index=0, text="two."),
        details(index=0, text=None, signature="c2ln"),
        details(index=1, text="Three."),
    ) == {
        "reasoning_details": [
            {"type": "reasoning.text", "index": 0, "text": "One two.", "signature": "c2ln"},
            {"type": "reasoning.text", "index": 1, "text": "Three."},
        ]
    }


def test_entries_without_an_index_end_with_their_signature() -> None:
    result = join(details(text="One "), details(text="two.", signature="a"), details(text="Three."))
    assert [entry["text"] for entry in result["reasoning_details"]] == ["One two.", "Three."]


def test_halves_of_a_character_become_one() -> None:
    assert join({"reasoning": "\ud83d"}, {"reasoning": "\ude00"}) == {"reasoning": "\U0001f600"}
    assert join(details(index=0, text="\ud83d"), details(index=0, text="\ude00"))["reasoning_details"] == [
        {"type": "reasoning.text", "index": 0, "text": "\U0001f600"}
    ]


def test_what_each_piece_repeats_counts_once() -> None:
    fields = ReplayedFields(("reasoning_details",))
    sizes = [
        fields.take(details(index=0, format="anthropic-claude-v1", id="reasoning-1", text="word ")) for _ in range(50)
    ]
    assert set(sizes[1:]) == {len("word ")}


def test_unknown_text_counts_and_thinking_does_not_count_twice() -> None:
    fields = ReplayedFields(("reasoning", "extra_content"))
    assert fields.take({"reasoning": "counted where it is read", "extra_content": "12345"}) == 5


def test_entries_are_bounded() -> None:
    result = join(*(details(index=at, text="x") for at in range(MAX_ENTRIES + 10)))
    assert len(result["reasoning_details"]) == MAX_ENTRIES


def test_values_that_are_no_entries_are_left_out() -> None:
    assert join({"reasoning_details": [5, "x", None, []]}, {"reasoning_details": None}) == {}
