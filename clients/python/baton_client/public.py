"""The names that ``baton_client`` offers."""

from baton_client._generated.synchronous.client import Baton
from baton_client._generated.synchronous.events import Events
from baton_client._generated.synchronous.pages import Pager
from baton_client._generated.synchronous.stream import RunStream
from baton_client.asynchronous.client import AsyncBaton
from baton_client.asynchronous.events import AsyncEvents
from baton_client.asynchronous.pages import AsyncPager
from baton_client.asynchronous.stream import AsyncRunStream
from baton_client.errors import (
    AnswerMismatchError,
    APIConnectionError,
    APIStatusError,
    APITimeoutError,
    AuthenticationError,
    BadRequestError,
    BatonError,
    ConfigurationError,
    ConflictError,
    FieldProblem,
    NoStructuredAnswerError,
    NotFoundError,
    PermissionDeniedError,
    RateLimitError,
    ServerError,
    StreamInterruptedError,
    UnexpectedAnswerError,
)
from baton_client.interrupt_answers import Answer
from baton_client.interrupt_texts import CardField
from baton_client.run_parts import ModelUsage, Person, Source, UploadedPart
from baton_client.run_result import Interrupt, RunResult, SaidMessage, SubTask
from baton_client.tools import ClientTool, client_tool
from baton_client.version import VERSION

__version__ = VERSION

__all__ = [
    "APIConnectionError",
    "APIStatusError",
    "APITimeoutError",
    "Answer",
    "AnswerMismatchError",
    "AsyncBaton",
    "AsyncEvents",
    "AsyncPager",
    "AsyncRunStream",
    "AuthenticationError",
    "BadRequestError",
    "Baton",
    "BatonError",
    "CardField",
    "ClientTool",
    "ConfigurationError",
    "ConflictError",
    "Events",
    "FieldProblem",
    "Interrupt",
    "ModelUsage",
    "NoStructuredAnswerError",
    "NotFoundError",
    "Pager",
    "PermissionDeniedError",
    "Person",
    "RateLimitError",
    "RunResult",
    "RunStream",
    "SaidMessage",
    "ServerError",
    "Source",
    "StreamInterruptedError",
    "SubTask",
    "UnexpectedAnswerError",
    "UploadedPart",
    "__version__",
    "client_tool",
]
