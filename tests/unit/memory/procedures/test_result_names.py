"""Names in what was said that come from the results of tools."""

import pytest

from baton.memory.procedures.task_record import find_result_names

RESULT = '{"contact": "Jane Doe", "company": "Zyxel Networks GmbH", "status": "Open", "name": "Miller"}'


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("I have told Jane Doe of Zyxel Networks GmbH.", ["Jane Doe", "Zyxel Networks GmbH"]),
        ("The invoice goes to Miller, as always.", ["Miller"]),
        ("Jane Doe knows.", ["Jane Doe", "Doe"]),
        ("It is done:\nJane Doe knows.", ["Jane Doe", "Doe"]),
        ("Open tickets are listed. Open one?", []),
        ("The ticket is open.", []),
        ("I have told John Smith.", []),
        ("", []),
    ],
)
def test_names_are_words_with_a_capital_that_a_result_holds(text: str, names: list[str]) -> None:
    assert list(find_result_names([text], ["Done.", RESULT])) == names


def test_without_results_there_are_none() -> None:
    assert list(find_result_names(["I have told Jane Doe."], [])) == []
