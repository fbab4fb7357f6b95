"""The checks of a case, as data sets write them. ``scoring`` carries them out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field, field_validator, model_validator

from baton.domain.patterns import compile_pattern
from baton.domain.schemas.schema_form import check_declared, walk_subschemas
from baton_testing.actions import Part
from baton_testing.conversation_test import Words

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
"""A number from 0 to 1."""


class Check(Part):
    """The base of all checks."""

    name: str | None = Field(default=None, min_length=1, max_length=80)
    """The name of its metric in results; absent: its type."""


class Contains(Check):
    """The answer has these words, all of them. Line breaks and repeated blanks do not matter."""

    type: Literal["contains"]
    text: Words = Field(min_length=1)
    ignore_case: bool = True


class NotContains(Check):
    """The answer has none of these words."""

    type: Literal["not_contains"]
    text: Words = Field(min_length=1)
    ignore_case: bool = True


class Regex(Check):
    """A regular expression matches the answer somewhere. The syntax is that of RE2, which takes linear time."""

    type: Literal["regex"]
    pattern: str = Field(min_length=1, max_length=1_000)
    ignore_case: bool = False

    @field_validator("pattern")
    @classmethod
    def _is_an_expression(cls, pattern: str) -> str:
        compile_pattern(pattern)
        return pattern


class Equals(Check):
    """The answer is this text, but for line breaks and repeated blanks."""

    type: Literal["equals"]
    text: str | None = None
    """Absent: the case's ``expected``."""
    ignore_case: bool = False


class JsonEquals(Check):
    """The structured answer, or the JSON in the answer's text, is this value."""

    type: Literal["json_equals"]
    value: Any = None
    """Absent: the case's ``expected``."""
    partial: bool = False
    """True if objects may have other members too. Lists are always whole."""


class JsonSchema(Check):
    """The structured answer, or the JSON in the answer's text, is valid by this JSON Schema (2020-12).

    The syntax of its patterns is that of RE2.
    """

    type: Literal["json_schema"]
    schema_: dict[str, Any] = Field(alias="schema")

    @field_validator("schema_")
    @classmethod
    def _is_a_schema(cls, schema: dict[str, Any]) -> dict[str, Any]:
        check_declared(schema)
        for part in walk_subschemas(schema):
            _check_patterns(part)
        return schema


def _check_patterns(part: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` if a schema cannot be checked in linear time for all answers."""
    for pattern in (part.get("pattern"), *part.get("patternProperties", ())):
        if pattern is not None:
            compile_pattern(pattern)
    unevaluated = {"unevaluatedItems", "unevaluatedProperties"} & part.keys()
    if unevaluated or {"patternProperties", "additionalProperties"} <= part.keys():
        raise ValueError(
            "must use neither unevaluatedItems and unevaluatedProperties, nor additionalProperties beside "
            "patternProperties: these are not checked in all schemas"
        )


class Similarity(Check):
    """The answer shares words with a text. No model is asked."""

    type: Literal["similarity"]
    to: str | None = Field(default=None, min_length=1)
    """Absent: the case's ``expected``."""
    measure: Literal["token_f1", "rouge_l"] = "token_f1"
    """``token_f1`` compares the words, whatever their order; ``rouge_l`` the longest common sequence of words."""
    threshold: Share = 0.5
    """The least value with which the case passes."""


class ToolCalled(Check):
    """A tool was called."""

    type: Literal["tool_called"]
    tool: str
    arguments: dict[str, Any] | None = None
    """Arguments that the call must have; it may have others too."""
    by: str | None = None
    """The agent that must have called it."""
    times: int | None = Field(default=None, ge=1)
    """The exact number of such calls; absent: at least one."""


class ToolNotCalled(Check):
    """None of these tools was called."""

    type: Literal["tool_not_called"]
    tool: Words = Field(min_length=1)


class ToolOrder(Check):
    """These tools were called in this order. Other calls may be between them."""

    type: Literal["tool_order"]
    tools: tuple[str, ...] = Field(min_length=2)


class Consulted(Check):
    """Another agent asked these agents."""

    type: Literal["consulted"]
    agent: Words = Field(min_length=1)


class HandedOffTo(Check):
    """The conversation was handed over to this agent."""

    type: Literal["handed_off_to"]
    agent: str


class AnsweredBy(Check):
    """This agent spoke last."""

    type: Literal["answered_by"]
    agent: str


class Cites(Check):
    """The sources of the answer have these documents. The value is the share of them that is there."""

    type: Literal["cites"]
    documents: Words = Field(min_length=1)
    """Titles, ids, addresses or names of files."""
    threshold: Share = 1.0
    """The least share with which the case passes."""


class Retrieves(Check):
    """The first ``k`` passages that were retrieved are from these documents, by recall and precision."""

    type: Literal["retrieves"]
    documents: Words = Field(min_length=1)
    """The relevant ones: titles, ids, addresses or names of files."""
    k: int = Field(default=5, ge=1, le=50)
    min_recall: Share = 1.0
    """The least share of the documents that must be among the first ``k``."""
    min_precision: Share = 0.0
    """The least share of the first ``k`` that must come from the documents."""


class MaxTokens(Check):
    """The models of the conversation used at most this many tokens together."""

    type: Literal["max_tokens"]
    tokens: int = Field(ge=1)


class MaxCost(Check):
    """The conversation cost at most this much. It needs prices of models."""

    type: Literal["max_cost"]
    usd: float = Field(gt=0, allow_inf_nan=False)


class Judge(Check):
    """A model grades the conversation by a rubric, from 0 to 1."""

    type: Literal["judge"]
    rubric: str = Field(min_length=1, max_length=8_000)
    threshold: Share = 0.7
    """The least grade with which the case passes."""
    votes: int = Field(default=1, ge=1, le=9)
    """The number of times that the model is asked; the median grade counts."""

    @model_validator(mode="after")
    def _has_a_median(self) -> Self:
        if self.votes % 2 == 0:
            raise ValueError("votes: an odd number, so that the median is one of them")
        return self


class PythonScorer(Check):
    """A function in Python, beside the data set, scores the run."""

    type: Literal["python"]
    function: str = Field(max_length=200, pattern=r"^([A-Za-z_]\w*:)?[A-Za-z_]\w*$")
    """Its name in ``scorers.py``, or ``module:name`` for another module of the folder."""
    arguments: dict[str, Any] = Field(default_factory=dict)
    """Further arguments of the function."""
    threshold: Share = 0.5
    """The least value with which the case passes, if the function returns a number."""


AnyCheck = Annotated[
    Contains
    | NotContains
    | Regex
    | Equals
    | JsonEquals
    | JsonSchema
    | Similarity
    | ToolCalled
    | ToolNotCalled
    | ToolOrder
    | Consulted
    | HandedOffTo
    | AnsweredBy
    | Cites
    | Retrieves
    | MaxTokens
    | MaxCost
    | Judge
    | PythonScorer,
    Field(discriminator="type"),
]
CHECKS: tuple[type[Check], ...] = get_args(get_args(AnyCheck)[0])
TYPES = {str(check.model_fields["type"].annotation.__args__[0]): check for check in CHECKS}  # type: ignore[union-attr]
"""Each check by its type."""
