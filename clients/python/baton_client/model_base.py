"""The base of the models of answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, PrivateAttr
from pydantic.alias_generators import to_camel

from baton_client.structured import parse_answer

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """The HTTP response that a value came with."""

    status: int
    headers: dict[str, str]
    """Names in lower case."""
    json: Any
    """The body as it was sent, decoded."""


class Model(BaseModel):
    """An answer. Fields that this version of the client does not know are kept, and in ``model_extra``."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="allow", protected_namespaces=(), defer_build=True
    )

    _http_response: HttpResponse | None = PrivateAttr(None)

    @property
    def http_response(self) -> HttpResponse | None:
        """The response whose body this is; ``None`` for parts of a body, such as items of a list."""
        return self._http_response


class Answered(Model):
    """Something with the ``result`` of a structured answer."""

    def result_as(self, kind: type[T]) -> T:
        """Return the value of the structured answer as a pydantic model, or another type with fields.

        Raises ``NoStructuredAnswerError`` and ``AnswerMismatchError``.
        """
        outcome = getattr(getattr(self, "outcome", None), "type", None)
        return parse_answer(kind, getattr(self, "result", None), outcome=outcome)
