"""Scores of a run by the checks of its case that need no model. See ``judging`` for the judge."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from jsonschema.exceptions import best_match

from baton.domain.json_values import refuse_constant, write_canonical_text
from baton.domain.patterns import compile_cached
from baton.domain.schemas.schema_validator import UncheckableValue, find_validation_errors
from baton.domain.text import replace_surrogates
from baton_testing.evals.answer import Answer, Source
from baton_testing.evals.checks import (
    AnsweredBy,
    AnyCheck,
    Cites,
    Consulted,
    Contains,
    Equals,
    HandedOffTo,
    JsonEquals,
    JsonSchema,
    Judge,
    MaxCost,
    MaxTokens,
    NotContains,
    PythonScorer,
    Regex,
    Retrieves,
    Similarity,
    ToolCalled,
    ToolNotCalled,
    ToolOrder,
)
from baton_testing.evals.dataset import EvalCase
from baton_testing.evals.results import Score, cut
from baton_testing.evals.similarity import compute_rouge_l, compute_token_f1
from baton_testing.matching import matches_partly

MAX_MATCHED = 1_000_000
"""The most characters of an answer in which a pattern is searched."""
_OF_ANSWERS = (Cites, Contains, Equals, JsonEquals, JsonSchema, NotContains, Regex, Retrieves, Similarity)
"""Checks of an agent's answer."""


def score(check: AnyCheck, case: EvalCase, answer: Answer) -> list[Score]:
    """Return the one or two scores of a check. Raises ``TypeError`` for ``Judge`` and ``PythonScorer``."""
    name = check.name or check.type
    if answer.delivered and isinstance(check, _OF_ANSWERS):
        return [Score.not_judged(name, "people answer: the last message was delivered to a desk, and no agent spoke")]
    match check:
        case Retrieves():
            return _score_retrieval(check, answer, name)
        case Similarity():
            measure = compute_token_f1 if check.measure == "token_f1" else compute_rouge_l
            value = measure(answer.text, check.to if check.to is not None else str(case.expected))
            return [Score.graded(check.name or f"{check.type}.{check.measure}", value, check.threshold)]
        case Cites():
            missing = [document for document in check.documents if not _has(answer.sources, document)]
            cited = len(check.documents) - len(missing)
            value = cited / len(check.documents)  # 1 - 4 / 5 is below 1 / 5
            reason = f"not cited: {', '.join(missing)}. Sources: {_list(answer.sources)}" if missing else ""
            if any(_has(answer.retrieved or (), document) for document in missing):
                reason += ". It was retrieved: an answer cites a document by its title in brackets, or its address"
            return [Score.graded(name, value, check.threshold, reason)]
        case MaxCost():
            if answer.usd is None:
                return [Score.not_judged(name, "the cost is not known: set the prices of models")]
            return [Score.of(name, answer.usd <= check.usd, f"it cost {answer.usd:.6g}, more than {check.usd:g}")]
        case Judge() | PythonScorer():
            raise TypeError(f"a check of the type {check.type} is carried out elsewhere")
        case _:
            problem = _find_problem(check, case, answer)
            return [Score.of(name, problem is None, problem or "")]


def _find_problem(check: AnyCheck, case: EvalCase, answer: Answer) -> str | None:
    """Return the reason why a check does not hold; None if it holds."""
    match check:
        case Contains() | NotContains():
            answer_text = _normalize(answer.text, ignore_case=check.ignore_case)
            present = [words for words in check.text if _normalize(words, ignore_case=check.ignore_case) in answer_text]
            if isinstance(check, NotContains):
                return f"it has {_quote(present[0])}" if present else None
            missing = [words for words in check.text if words not in present]
            return f"it lacks {_quote(missing[0])}" if missing else None
        case Regex():
            text = replace_surrogates(answer.text)[:MAX_MATCHED]
            first_match = compile_cached(check.pattern, ignores_case=check.ignore_case).search(text)
            return None if first_match else f"nothing matches {_quote(check.pattern)}"
        case Equals():
            expected = check.text if check.text is not None else str(case.expected)
            is_same = _normalize(answer.text, ignore_case=check.ignore_case) == _normalize(
                expected, ignore_case=check.ignore_case
            )
            return None if is_same else f"it is not {_quote(expected)}"
        case JsonEquals() | JsonSchema():
            return _find_json_problem(check, case, answer)
        case ToolCalled() | ToolNotCalled() | ToolOrder():
            return _find_call_problem(check, answer)
        case Consulted():
            unasked = [agent for agent in check.agent if agent not in answer.consulted]
            return f"{unasked[0]} was not consulted" if unasked else None
        case HandedOffTo():
            return None if check.agent in answer.handoffs else f"handed over to {_list(answer.handoffs)}"
        case AnsweredBy():
            return (
                None
                if check.agent == answer.answered_by
                else f"{answer.answered_by or _describe_nobody(answer)} answered"
            )
        case MaxTokens():
            return None if answer.tokens <= check.tokens else f"it used {answer.tokens} tokens"
        case _:
            raise TypeError(check.type)


def _describe_nobody(answer: Answer) -> str:
    return "people" if answer.delivered else "nobody"


def _find_json_problem(check: JsonEquals | JsonSchema, case: EvalCase, answer: Answer) -> str | None:
    try:
        result = answer.result if answer.result is not None else read_json(answer.text)
        return (
            _find_schema_problem(check, result)
            if isinstance(check, JsonSchema)
            else _find_difference(check, case, result)
        )
    except ValueError:
        return "the answer holds no JSON"
    except RecursionError:
        return "the answer's JSON is nested too deeply"


def _find_difference(check: JsonEquals, case: EvalCase, result: Any) -> str | None:
    expected = check.value if "value" in check.model_fields_set else case.expected
    is_same = (
        matches_partly(result, expected)
        if check.partial
        else write_canonical_text(result) == write_canonical_text(expected)
    )
    return None if is_same else f"it is {cut(json.dumps(result, ensure_ascii=False))}"


def _find_schema_problem(check: JsonSchema, result: Any) -> str | None:
    try:
        error = best_match(iter(find_validation_errors(check.schema_, result)))
    except UncheckableValue:
        return "the schema cannot be used: it refers to something outside, or takes too many steps to check"
    return None if error is None else cut(f"{error.json_path}: {error.message}")


def read_json(text: str) -> Any:
    """Return the JSON value that a text, or its first fenced block, consists of. Raises ``ValueError``."""
    try:
        return _parse_json(text)
    except ValueError:
        _, fence, rest = text.partition("```")
        if not fence:
            raise
        return _parse_json(rest.partition("\n")[2].partition("```")[0])


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=refuse_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _find_call_problem(check: ToolCalled | ToolNotCalled | ToolOrder, answer: Answer) -> str | None:
    called = cut("; ".join(map(str, answer.calls))) or "no tool was called"
    match check:
        case ToolNotCalled():
            return called if any(call.tool in check.tool for call in answer.calls) else None
        case ToolOrder():
            rest = iter(call.tool for call in answer.calls)
            return None if all(tool in rest for tool in check.tools) else called
        case ToolCalled():
            fitting = [
                call
                for call in answer.calls
                if call.tool == check.tool
                and check.by in (None, call.agent_id)
                and (check.arguments is None or matches_partly(call.arguments, check.arguments))
            ]
            holds_count = bool(fitting) if check.times is None else len(fitting) == check.times
            return None if holds_count else f"{len(fitting)} such calls: {called}"


def _score_retrieval(check: Retrieves, answer: Answer, name: str) -> list[Score]:
    names = f"{name}.recall@{check.k}", f"{name}.precision@{check.k}"
    if answer.retrieved is None:
        return [Score.not_judged(name, "the retrieved passages are not on record") for name in names]
    recall, precision = compute_recall_and_precision(answer.retrieved, check.documents, check.k)
    reason = f"retrieved: {_list(answer.retrieved[: check.k])}"
    return [
        Score.graded(names[0], recall, check.min_recall, reason),
        Score.graded(names[1], precision, check.min_precision, reason),
    ]


def compute_recall_and_precision(retrieved: Sequence[Source], relevant: Sequence[str], k: int) -> tuple[float, float]:
    """Return recall@k by documents, and precision@k by passages, both from 0 to 1.

    Recall is the share of the relevant documents that have a passage among the first ``k``. Precision is the share of
    the first ``k`` passages, or of all if there are fewer, that are from relevant documents; 0 without passages.
    """
    first = retrieved[:k]
    recall = sum(_has(first, name) for name in relevant) / len(relevant)
    fitting = sum(any(source.is_named(name) for name in relevant) for source in first)
    return recall, fitting / len(first) if first else 0.0


def _has(sources: Sequence[Source], name: str) -> bool:
    return any(source.is_named(name) for source in sources)


def _normalize(text: str, *, ignore_case: bool) -> str:
    return " ".join((text.casefold() if ignore_case else text).split())


def _quote(text: str) -> str:
    return repr(cut(text))


def _list(results: Iterator[object] | Sequence[object]) -> str:
    return cut(", ".join(dict.fromkeys(map(str, results)))) or "none"
