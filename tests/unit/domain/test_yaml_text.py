"""YAML from anywhere is plain values or a refusal that names its line."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.domain.yaml_text import MAX_DEPTH, MAX_VALUES, InvalidYaml, read_yaml


def bomb(first: str, opened: str, closed: str) -> str:
    """Twelve lines of which each stands for nine times the one before it."""
    lines = [f"a0: &a0 {first}"]
    lines += [f"a{n}: &a{n} {opened}{', '.join([f'*a{n - 1}'] * 9)}{closed}" for n in range(1, 12)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        (bomb("[x, x]", "[", "]"), 6, "its aliases (*name) make more than 100000 values"),
        (bomb("{x: 1}", "{<<: [", "]}"), 6, "its aliases (*name) make more than 100000 values"),
        ("b: 1\na: &a [*a]", 2, "it refers to itself"),
        ("a: " + "[" * 20_000, 1, f"it is nested more than {MAX_DEPTH} deep"),
        ("a: 1\nb: 2\na: 3", 3, "a: the field occurs twice"),
        ("a: &a {x: 1}\nb: {<<: *a, y: 1, y: 2}", 2, "y: the field occurs twice"),
        ("a: 1\n? [b]\n: 2", 2, "a field's name must be plain text"),
        ("a: 1\nb: *c", 2, "found undefined alias 'c'"),
        ("a: 1\nb: !!python/object:os.system x", 2, "could not determine a constructor"),
        ("a: 2026-02-31", 1, "a value is not valid for its type, such as a date that does not exist"),
        ("a: !!int ", 1, "a value is not valid for its type, such as a date that does not exist"),
        ("a: 1" + ":1" * 200 + ".0", 1, "a value is not valid for its type"),
        ("a: 1\n---\nb: 2", 2, "but found another document"),
        ("é: 1\nb:\n\tc: 3", 3, "there is a tab; indent with spaces"),
        ("a:\n  b: 1\n\tc: 2", 3, "there is a tab; indent with spaces"),
    ],
)
def test_what_is_refused_is_reported_with_its_line(text: str, line: int, expected: str) -> None:
    with pytest.raises(InvalidYaml) as refusal:
        read_yaml(text)
    assert (refusal.value.line, str(refusal.value)[: len(expected)]) == (line, expected)


def test_a_field_that_is_there_twice_is_reported_without_its_values() -> None:
    with pytest.raises(InvalidYaml) as refusal:
        read_yaml("token: hunter2\ntoken: hunter3")
    assert "hunter" not in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("a: {x: 1, y: no}", {"a": {"x": 1, "y": False}}),
        ("a: &a {x: 1}\nb: [*a, *a]", {"a": {"x": 1}, "b": [{"x": 1}, {"x": 1}]}),
        ("a: &a {x: 1, y: 1}\nb: {<<: *a, y: 2}", {"a": {"x": 1, "y": 1}, "b": {"x": 1, "y": 2}}),
    ],
)
def test_what_is_read_is_plain_values(text: str, value: Any) -> None:
    assert read_yaml(text).values == value


def test_aliases_can_be_refused() -> None:
    with pytest.raises(InvalidYaml, match="not allowed"):
        read_yaml("a: &a x\nb: *a", aliases=False)


def test_aliases_nest_values_no_deeper_than_a_text_without_them() -> None:
    half = MAX_DEPTH // 2
    text = f"a: &a {'[' * half}{']' * half}\nb: {'[' * half}*a{']' * half}"
    with pytest.raises(InvalidYaml, match=f"nest it more than {MAX_DEPTH} deep"):
        read_yaml(text)


MANY = "[" + "1," * MAX_VALUES + "1]"


@pytest.mark.parametrize("text", [MANY, "- 1\n" * (MAX_VALUES + 1), "".join(f"k{n}: 1\n" for n in range(MAX_VALUES))])
def test_a_text_of_a_stranger_has_a_bounded_number_of_values(text: str) -> None:
    with pytest.raises(InvalidYaml, match="more than 100000 values"):
        read_yaml(text)


def test_the_operators_own_files_may_have_more_values() -> None:
    assert len(read_yaml(MANY, is_trusted=True).values) == MAX_VALUES + 1


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        read_yaml(text)
    except InvalidYaml as refusal:
        assert refusal.line >= 1  # noqa: PT017 - both ways are right
