"""The countable rules of Baton's prose: ``python -m tests.prose [path ...]`` prints each place that breaks a rule.

Docstrings and descriptions do not begin as subordinate clauses, those of classes and properties are noun phrases, and
texts and names avoid some words and American spelling. CONTRIBUTING.md has the rules that a program cannot check.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
GENERATED = "clients/python/baton_client/_generated/"
THIS_MODULE = ("tests/prose.py", "tests/unit/test_prose.py")

CLAUSE_WORDS = frozenset(
    {"as", "how", "if", "that", "what", "when", "where", "which", "who", "whoever", "whose", "why"}
)
AVOIDED_WORDS = {
    "told": "say, notify, send",
    "tell": "say, notify, send",
    "tells": "says, notifies, sends",
    "news": "events, notification",
    "wish": "request, option",
    "wishes": "requests, options",
    "wished": "requested",
    "kit": "set, tools",
    "brought": "given, passed",
    "whoever": "the user who, the caller",
    "anew": "again",
    "lately": "recently",
}
AVOIDED_PHRASES = {
    "of its own": "its own, separate",
    "of their own": "their own, separate",
    "of one's own": "your own",
    "also (?:if|when)": "even if, even when",
    "the (?:release|version|turn|attempt|run|request|session|message|page|one) before(?=[.,;:)])": "the previous one",
    "otherwise than": "differently from",
    "so often(?=[.,;:)])": "this many times",
    "(?<!there )is no (?:number|error|attempt|coroutine|object|specialist|secret|text)": "is not a",
    "what is to be": "the noun that it stands for",
    "is there already": "exists already",
    "in truth": "actually",
    "belongs? into": "belongs in",
}
"""Patterns of phrases, and what to write instead."""
BARE_NAMES = frozenset(
    """
    asked begun each ended found given heard kept known left made place said shown wanted
    """.split()  # noqa: SIM905
)
"""Participles and pronouns that replace the noun in the name of a variable, parameter or attribute."""
ALLOWED_NAMES: dict[tuple[str, str], str] = {
    ("shared/baton/adapters/a2a/answer.py", "known"): "callers in other rooms pass it by name",
    (
        "shared/baton/adapters/dynamodb/tenants/agent_definitions.py",
        "wanted",
    ): "a parameter of a port and of its adapters",
    ("shared/baton/adapters/dynamodb/tenants/audit.py", "wanted"): "a parameter of a port and of its adapters",
    ("shared/baton/adapters/dynamodb/threads/activity.py", "known"): "callers in other rooms pass it by name",
    (
        "shared/baton/adapters/dynamodb/threads/handoffs.py",
        "place",
    ): "a position; callers in other rooms pass it by name",
    ("shared/baton/adapters/dynamodb/threads/lease_updates.py", "ended"): "callers in other rooms pass it by name",
    ("shared/baton/adapters/dynamodb/threads/leases.py", "ended"): "callers in other rooms pass it by name",
    ("shared/baton/domain/agents/agent_checks.py", "place"): "a position; callers in other rooms pass it by name",
    ("shared/baton/domain/documents/pipelines.py", "ended"): "callers in other rooms pass it by name",
    ("shared/baton/domain/errors/base.py", "place"): "a position; callers in other rooms pass it by name",
    ("shared/baton/domain/runs/run_step.py", "place"): "a position; callers in other rooms pass it by name",
    ("shared/baton/domain/runs/task.py", "known"): "callers in other rooms pass it by name",
    ("shared/baton/domain/schemas/schema_form.py", "place"): "a position; callers in other rooms pass it by name",
    ("shared/baton/domain/tenants/activity.py", "place"): "a position; callers in other rooms pass it by name",
    ("shared/baton/memory/procedures/administration.py", "shown"): "a field that other rooms read",
    ("shared/baton/memory/prompt/context.py", "asked"): "a field that other rooms read",
    ("shared/baton/memory/recalled.py", "found"): "a field that other rooms read",
    ("shared/baton/ports/agents/agent_client.py", "known"): "callers in other rooms pass it by name",
    ("shared/baton/ports/agents/agents.py", "wanted"): "a parameter of a port and of its adapters",
    ("shared/baton/ports/tenants/audit.py", "wanted"): "a parameter of a port and of its adapters",
    ("shared/baton/ports/tenants/tenants.py", "known"): "callers in other rooms pass it by name",
    ("shared/baton/ports/threads/connections.py", "asked"): "a field that other rooms read",
    ("shared/baton/ports/threads/handoffs.py", "place"): "a position; callers in other rooms pass it by name",
    ("shared/baton/ports/threads/leases.py", "ended"): "callers in other rooms pass it by name",
    ("extraction/baton_documents/pdf/columns.py", "left"): "an edge",
    ("extraction/baton_documents/pdf/fields.py", "left"): "an edge",
    ("extraction/baton_documents/pdf/glyphs.py", "left"): "an edge",
    ("extraction/baton_documents/pdf/mixed_lines.py", "left"): "an edge",
    ("extraction/baton_documents/pdf/objects.py", "left"): "an edge",
    ("extraction/baton_documents/pdf/places.py", "left"): "an edge",
    ("extraction/baton_documents/sheets/shared_formulas.py", "left"): "an edge",
    ("extraction/baton_documents/slides/order.py", "left"): "an edge",
    ("extraction/baton_documents/slides/order.py", "place"): "where a shape stands",
    ("extraction/baton_documents/slides/pptx.py", "place"): "where a shape stands",
    ("baton_local/project/shared_agents.py", "place"): "a file and its line",
    ("baton_testing/batch.py", "place"): "the agents' place",
    ("baton_testing/evals/results.py", "place"): "a file and its line, in stored results",
    ("baton_testing/evals/targets/project_run.py", "place"): "the agents' place",
    ("baton_testing/fakes/tenants/audit.py", "wanted"): "a parameter of a port",
    ("baton_testing/fakes/tenants/tenants.py", "wanted"): "a parameter of a port",
    ("baton_testing/fakes/threads/activity.py", "known"): "a parameter of a port",
    ("baton_testing/fakes/threads/handoffs.py", "place"): "a parameter of a port",
    ("baton_testing/fakes/threads/leases.py", "ended"): "a parameter of a port",
    ("baton_testing/observation.py", "said"): "a field that expectations of tests name",
    ("baton_testing/reports/result.py", "place"): "a file and its line",
    ("tests/browser/test_console_monitor.py", "left"): "a side of the page",
    ("tests/extraction/pdf/test_columns.py", "left"): "a column",
    ("tests/extraction/pdf/test_directions.py", "left"): "a column",
    ("tests/integration/tools/functions.py", "place"): "a parameter that the tested tool has",
    ("tests/unit/turns/test_rates.py", "known"): "a parameter of a port",
}
"""Reasons for which a module may assign a bare participle or pronoun, by path and name."""
ALLOWED = {
    ("shared/baton/agents/tools/builtin_tools.py", "told"),  # a prompt: another text could change answers
    ("shared/baton/domain/threads/branches.py", "wished"),  # the name of a stored field
    ("docs/reference/agents-yaml.md", "tell"),  # a sentence of the product
    ("docs/how-to/use-amazon-bedrock.md", "Center"),  # the name of a product
}
"""Pairs of a path and a word that the file may contain."""
VERBS = frozenset(
    """
    acts adds admits announces asks begins carries chooses closes collects compares compiles consults converts creates
    decides decodes delivers dispatches distinguishes does embeds executes extracts fires follows gives grows handles
    has holds identifies implements increases iterates judges keeps knows learns lets makes observes packs parses puts
    redacts refuses remembers removes replaces resolves retrieves returns says sends separates serves shortens
    summarises takes validates verifies writes yields
    """.split()  # noqa: SIM905
)
"""Verbs in the third person, with which no docstring of a class begins."""
VERBS_OR_NOUNS = frozenset(
    """
    answers bounds caches calls changes checks commits copies counts drops edits ends exchanges finds imports indexes
    limits lists marks measures merges needs notes passes places plays polls posts prints queues ranks reads rebuilds
    records refreshes reports requests runs screens seals searches shows signs splits stands starts stops stores tests
    turns types watches works
    """.split()  # noqa: SIM905
)
"""Words that are such verbs before an object, and otherwise plurals of nouns."""
AFTER_NOUN = re.compile(
    r"[.,:;)]|$|(?:\s+[a-z]+ed)?\s+(?:about|after|against|and|are|at|before|behind|between|beyond|by|can|cannot|for|from"
    r"|have|in|must|of|on|or|over|that|through|to|under|where|which|while|who|whose|with|within|without)\b"
)
"""The beginning of the text after one of these words if the word is a plural."""
DESCRIPTIONS = frozenset({"description", "help", "summary"})

# Terms of protocols and libraries keep their spelling.
AMERICAN = re.compile(
    r"\b(?:behavior\w*|colors?|colored|favor\w*|honor(?:s|ed|ing)?|neighbor\w*|labor|center(?:s|ed|ing)?|canceled|canceling"
    r"|labeled|labeling|modeled|modeling|traveled|traveling|signaled|signaling|fulfill(?!ed|ing)s?|analyz\w+|catalogs?"
    r"|gray|skeptical|judgment|\w+?iz(?:e|es|ed|ing|ation|ations|er|ers))\b",
    re.IGNORECASE,
)
SPELT_WITH_Z = re.compile(
    r"\b(?:(?:re)?siz(?:e[ds]?|ing)|(?:de)?tokeniz\w+|authoriz(?:er|ers|ation)|seize|prize)\b", re.IGNORECASE
)
_PHRASES = [(re.compile(rf"\b(?:{phrase})(?!\w)", re.IGNORECASE), better) for phrase, better in AVOIDED_PHRASES.items()]
_ANY_PHRASE = re.compile(rf"\b(?:{'|'.join(AVOIDED_PHRASES)})(?!\w)", re.IGNORECASE)
CODE = re.compile(r"``[^`]*``|`[^`]*`|https?://\S+|\"[^\"\n]*\"|“[^”\n]*”|\S*[_/=@{}<>.:]\w\S*")
STRING_OR_COMMENT = re.compile(
    r"""'{3}(?:\\.|.)*?'{3}|"{3}(?:\\.|.)*?"{3}|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|#[^\n]*""", re.DOTALL
)


@dataclass(frozen=True)
class Flaw:
    """A place that breaks a rule."""

    path: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.reason}"


_JUDGED = frozenset(
    (
        *(ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef, ast.AnnAssign, ast.keyword, ast.arg),
        *(ast.Name, ast.Attribute, ast.ExceptHandler, ast.MatchAs, ast.MatchStar),
    )
)
"""The types of syntax nodes that have names or texts."""


def find_flaws(path: str, text: str) -> Iterator[Flaw]:
    """Yield each flaw of a Python module or a Markdown page."""
    if path.endswith(".md"):
        yield from _page_flaws(path, text)
        return
    nodes = [node for node in ast.walk(ast.parse(text)) if type(node) in _JUDGED]
    for line, docstring in _properties(nodes):
        if docstring.startswith("Return"):
            yield Flaw(path, line, "a property is a noun: name the value instead of returning it")
    for line, docstring in _classes(nodes):
        if verb := _opening_verb(docstring):
            yield Flaw(path, line, f'"{verb}": a class is a noun: name the thing first, then what it does')
    for line, docstring, is_boolean in _texts(nodes):
        yield from (Flaw(path, line, reason) for reason in _opening_flaws(docstring, is_boolean=is_boolean))
        yield from (Flaw(path, line, reason) for reason in word_flaws(docstring))
    for line, comment in _comments(text):
        yield from (Flaw(path, line, reason) for reason in word_flaws(comment))
    for line, name in _names(nodes):
        yield from (Flaw(path, line, f"name `{name}`: {reason}") for reason in _name_flaws(name))
    yield from _bare_names(path, nodes)


def word_flaws(prose: str) -> Iterator[str]:
    """Yield a reason for each wrong word or phrase in a text, without its code and quotations."""
    plain = CODE.sub(" ", prose)
    yield from _find_avoided(plain)
    line = " ".join(plain.split())
    for phrase, better in _PHRASES if _ANY_PHRASE.search(line) else ():
        if results := phrase.search(line):
            yield f'"{results[0]}": write {better}'
    for spelling in AMERICAN.finditer(SPELT_WITH_Z.sub(" ", plain)):
        yield f'"{spelling[0]}" is American spelling'


@cache
def _name_flaws(name: str) -> tuple[str, ...]:
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name).replace("_", " ")
    return tuple(_find_avoided(words))


def _find_avoided(words: str) -> Iterator[str]:
    for word in re.findall(r"[a-z]+", words.lower()):
        if word in AVOIDED_WORDS:
            yield f'"{word}": write {AVOIDED_WORDS[word]}'


def _opening_flaws(text: str, *, is_boolean: bool) -> Iterator[str]:
    first = re.match(r"\W*([A-Za-z]+)", text)
    word = first[1].lower() if first else ""
    if word in CLAUSE_WORDS or (word == "whether" and not is_boolean):
        yield f'a text that begins with "{word}" is a clause: name the thing, or what the function does'


def _opening_verb(text: str) -> str | None:
    """Return the verb in the third person with which a text begins; None if it begins with something else."""
    first = re.match(r"[A-Za-z]+", text)
    if first is None:
        return None
    word, rest = first[0].lower(), text[first.end() :]
    is_verb = word in VERBS or (word in VERBS_OR_NOUNS and AFTER_NOUN.match(rest) is None)
    return first[0] if is_verb else None


def _classes(nodes: Sequence[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield the line and the docstring of each class."""
    for node in nodes:
        if isinstance(node, ast.ClassDef) and (docstring := ast.get_docstring(node)) is not None:
            yield node.body[0].lineno, docstring


def _properties(nodes: Sequence[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield the line and the docstring of each property."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef) and (docstring := ast.get_docstring(node)) is not None:
            decorators = [item.id for item in node.decorator_list if isinstance(item, ast.Name)]
            if any(name.endswith("property") for name in decorators):
                yield node.lineno, docstring


def _texts(nodes: Sequence[ast.AST]) -> Iterator[tuple[int, str, bool]]:
    """Yield each docstring and description: its line, its text, and whether it may describe a boolean."""
    for node in nodes:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and (text := _string(first.value)) is not None:
                yield first.lineno, text, _is_boolean(getattr(node, "returns", None))
            for before, after in zip(node.body, node.body[1:], strict=False):
                if isinstance(before, ast.Assign | ast.AnnAssign) and isinstance(after, ast.Expr):
                    text = _string(after.value)
                    if text is not None:
                        yield after.lineno, text, _may_be_boolean(before)
        if isinstance(node, ast.AnnAssign):
            for keyword in _descriptions(node):
                yield keyword.lineno, _string(keyword.value) or "", _is_boolean(node.annotation)
        elif isinstance(node, ast.keyword) and node.arg in DESCRIPTIONS and (text := _string(node.value)):
            yield node.value.lineno, text, True


def _descriptions(field: ast.AnnAssign) -> Iterator[ast.keyword]:
    for node in ast.walk(field):
        if isinstance(node, ast.keyword) and node.arg in DESCRIPTIONS:
            yield node


def _string(node: ast.AST) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _is_boolean(annotation: ast.AST | None) -> bool:
    return annotation is not None and "bool" in ast.unparse(annotation)


def _may_be_boolean(assignment: ast.Assign | ast.AnnAssign) -> bool:
    return isinstance(assignment, ast.Assign) or _is_boolean(assignment.annotation)


def _comments(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each comment, without the module ``tokenize``, which is much slower."""
    line, counted = 1, 0
    for match in STRING_OR_COMMENT.finditer(text):
        if match[0].startswith("#"):
            line += text.count("\n", counted, match.start())
            counted = match.start()
            yield line, re.sub(r"#\s*(?:type|noqa|pragma|fmt).*", "", match[0])


def _names(nodes: Sequence[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield the names that a module defines: classes, functions, parameters, variables and attributes."""
    for node in nodes:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr


def _bare_names(path: str, nodes: Sequence[ast.AST]) -> Iterator[Flaw]:
    for node in nodes:
        if isinstance(node, ast.arg):
            name: str | None = node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            name = node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            name = node.attr
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
            name = node.name
        else:
            continue
        if name in BARE_NAMES and (path, name) not in ALLOWED_NAMES:
            yield Flaw(path, getattr(node, "lineno", 1), f"name `{name}`: write the noun that it stands for")


def _page_flaws(path: str, text: str) -> Iterator[Flaw]:
    in_code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith(("```", "~~~")):
            in_code = not in_code
        elif not in_code:
            reasons = list(word_flaws(re.sub(r"\]\([^)]*\)", "]", line)))
            if line.startswith("#"):
                reasons += _opening_flaws(line, is_boolean=False)
            yield from (Flaw(path, number, reason) for reason in reasons)


def read_paths(arguments: Sequence[str]) -> list[str]:
    """Return the project's modules and pages below these paths, without generated ones."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *arguments],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    return [
        path
        for path in listed
        if path.endswith((".py", ".md"))
        and not path.startswith(GENERATED)
        and path not in THIS_MODULE
        and (ROOT / path).exists()
    ]


def main(arguments: Sequence[str]) -> int:
    """Print the flaws below the given paths, or of the whole project. Return the exit code: 1 if it has flaws."""
    results = (flaw for path in read_paths(arguments) for flaw in find_flaws(path, (ROOT / path).read_text()))
    flaws = [
        flaw for flaw in results if not any(flaw.path == path and f'"{word}"' in flaw.reason for path, word in ALLOWED)
    ]
    print(*flaws, sep="\n", end="\n" if flaws else "")  # noqa: T201
    return 1 if flaws else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
