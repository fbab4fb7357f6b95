"""The program that checks prose finds what the rules forbid, and nothing else."""

from __future__ import annotations

import pytest

from tests.prose import ALLOWED_NAMES, find_flaws, word_flaws


@pytest.mark.parametrize(
    "module",
    [
        '"""What posts push notifications."""',
        'class Audited:\n    """That somebody did something."""',
        'def read() -> str:\n    """How a text is read."""',
        'LIMIT = 3\n"""How many there may be."""',
        'class Run:\n    count: int\n    """Whether there are some."""',
        'count: int = Field(description="Where it begins.")',
        'app.get("/", summary="Why it failed")',
        'help = Option(help="Whoever did it.")',
    ],
)
def test_a_text_that_is_a_clause_is_found(module: str) -> None:
    assert [flaw.reason for flaw in find_flaws("a.py", module) if "is a clause" in flaw.reason]


@pytest.mark.parametrize(
    "module",
    [
        '"""Posts push notifications."""',
        'def is_open() -> bool:\n    """Whether it is open."""',
        'async def is_open() -> bool:\n    """Whether it is open."""',
        'class Run:\n    is_open: bool\n    """Whether it is open."""',
        'is_open: bool = Field(description="Whether it is open.")',
        'text = "What posts push notifications."',
        'print("That is it")',
        'def read() -> str:\n    """Return ``told`` and "anew"."""',
    ],
)
def test_noun_phrases_verbs_and_questions_of_truth_are_allowed(module: str) -> None:
    assert list(find_flaws("a.py", module)) == []


@pytest.mark.parametrize("decorator", ["property", "cached_property"])
def test_a_property_that_returns_something_is_found(decorator: str) -> None:
    module = f'class Run:\n    @{decorator}\n    def pages(self) -> str:\n        """{{}} pages."""'
    assert [flaw.line for flaw in find_flaws("a.py", module.format("Return its"))] == [3]
    assert list(find_flaws("a.py", module.format("Its"))) == []


@pytest.mark.parametrize(
    ("purpose", "verb"),
    [
        ("Reads files of all formats.", "Reads"),
        ("Decides which agent speaks.", "Decides"),
        ("Answers requests by a script.", "Answers"),
        ("Runs queued turns.", "Runs"),
        ("Records each kind of call.", "Records"),
        ("Packs and unpacks values.", "Packs"),
    ],
)
def test_a_class_that_begins_with_a_verb_is_found(purpose: str, verb: str) -> None:
    flaws = list(find_flaws("a.py", f'class Reader:\n    """{purpose}"""'))
    assert [(flaw.line, flaw.reason.partition(":")[0]) for flaw in flaws] == [(2, f'"{verb}"')]


@pytest.mark.parametrize(
    "purpose",
    [
        "A reader of files. Reads them once.",
        "Answers to repeated messages.",
        "Runs that somebody wants stopped.",
        "Requests stopped by a limit.",
        "Turns, each from its start to its end.",
        "Searches cannot be made at the moment.",
        "Documents of one agent.",
        "Addresses a page has.",
    ],
)
def test_a_class_may_begin_with_a_plural(purpose: str) -> None:
    assert list(find_flaws("a.py", f'class Reader:\n    """{purpose}"""')) == []


@pytest.mark.parametrize(
    "module",
    ['"""Posts push notifications."""', 'def read() -> None:\n    """Reads files."""', 'LIMIT = 3\n"""Keeps some."""'],
)
def test_only_classes_must_not_begin_with_a_verb(module: str) -> None:
    assert list(find_flaws("a.py", module)) == []


@pytest.mark.parametrize(
    ("path", "text", "line"),
    [
        ("a.py", "x = 1\n# the user is told", 2),
        ("a.py", "def told() -> None: ...", 1),
        ("a.py", "class TaskNews: ...", 1),
        ("a.py", "self.is_told = True", 1),
        ("a.py", "def read(toolKit): ...", 1),
        ("a.md", "# Title\n\nWhoever reads this.", 3),
        ("a.md", "## What it does", 1),
        ("a.md", "A process of its own.", 1),
        ("a.md", "It is kept, also if it is empty.", 1),
        ("a.py", '"""A copy of the version\nbefore."""', 1),
        ("a.py", "# it is no number", 1),
        ("a.md", "It normalizes text.", 1),
    ],
)
def test_avoided_words_are_found_in_comments_names_and_pages(path: str, text: str, line: int) -> None:
    assert {flaw.line for flaw in find_flaws(path, text)} == {line}


@pytest.mark.parametrize(
    "text",
    [
        "The size of a prize, resized.",
        "`normalize` and ``told`` are names.",
        "An authorizer checks the authorization.",
        'The message is "You told me".',
        "Its own process.",
        "See docs/tell.md.",
        "There is no error before the page before it is read.",
    ],
)
def test_code_quotations_and_terms_of_protocols_are_left_alone(text: str) -> None:
    assert list(word_flaws(text)) == []


def test_code_blocks_of_pages_are_left_alone() -> None:
    assert list(find_flaws("a.md", "Text.\n\n```python\ntold = 1  # anew\n```\n\n    indented told")) != []
    assert list(find_flaws("a.md", "Text.\n\n```python\ntold = 1  # anew\n```\n")) == []


@pytest.mark.parametrize(
    "module",
    [
        "found = 1",
        "found: int = 1",
        "for found in (1, 2): pass",
        "def search(found: int) -> None: ...",
        "search = lambda found: 1",
        "self.found = 1",
        "with open() as found: pass",
        "if (found := 1): pass",
        "[1 for found in ()]",
        "try: pass\nexcept OSError as found: pass",
        "match 1:\n    case int() as found: pass",
        "match 1:\n    case [*found]: pass",
    ],
)
def test_assigned_names_that_are_bare_participles_are_found(module: str) -> None:
    assert [flaw.reason[:12] for flaw in find_flaws("functions/a.py", module)] == ["name `found`"]


@pytest.mark.parametrize("module", ["found_document = 1", "print(found)", "from a import found", "run(found=1)"])
def test_names_with_a_noun_and_names_of_others_are_allowed(module: str) -> None:
    assert list(find_flaws("functions/a.py", module)) == []


def test_few_names_are_allowed_with_a_reason() -> None:
    assert len(ALLOWED_NAMES) <= 50
    assert all(ALLOWED_NAMES.values())
