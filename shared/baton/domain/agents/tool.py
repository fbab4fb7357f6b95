"""External tools, as agents' files declare them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, Literal, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, PrivateAttr, StringConstraints, field_validator, model_validator

from baton.domain.agents.approval_question import Label, Question, find_question_problem
from baton.domain.definition import Definition
from baton.domain.patterns import compile_cached
from baton.domain.schemas.argument_schema import ArgumentSchema
from baton.domain.schemas.schema_form import check_declared, walk_subschemas
from baton.domain.tenants.identity import PermissionName
from baton.domain.tenants.secret import Headers, HeaderValue, TokenExchange
from baton.domain.web_url import has_credentials, is_web_url

TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""The function names that model providers accept."""
BUILTIN_TOOLS = re.compile(
    r"(ask|transfer_to)_.*|return_to_main|advance_workflow|end_conversation|stay_silent|desk_note"
)
"""Names of built-in tools."""
PLACEHOLDER = re.compile(r"\{([\w.-]+)\}")
IDEMPOTENCY_KEY = "baton.dev/idempotency-key"
"""A key in the ``_meta`` of a call over MCP. Its value is the same in every attempt at the call."""
TIME_ZONE_KEY = "baton.dev/time-zone"
"""A key in the ``_meta`` of a call over MCP: IANA's name of the user's time zone."""


def _check_name(name: str) -> str:
    if BUILTIN_TOOLS.fullmatch(name):
        raise ValueError(f"{name} is the name of one of Baton's own tools: choose another")
    return name


def _check_url(url: str) -> str:
    if has_credentials(url):
        raise ValueError("must not hold credentials: put them into a header, by reference")
    if not is_web_url(url):
        raise ValueError("must be an absolute https URL")
    if PLACEHOLDER.search(urlsplit(url).netloc):
        raise ValueError("must not have placeholders in its host")
    return url


def _check_parameters(schema: dict[str, Any]) -> dict[str, Any]:
    check_declared(schema)
    if schema.get("type") != "object":
        raise ValueError("must be a JSON Schema of type object")
    for part in walk_subschemas(schema):
        for pattern in (*filter(None, (part.get("pattern"),)), *part.get("patternProperties", ())):
            compile_cached(pattern)
    return schema


Name = Annotated[str, StringConstraints(pattern=rf"^{TOOL_NAME.pattern}$"), AfterValidator(_check_name)]
ServerName = Annotated[str, StringConstraints(pattern=r"^[a-zA-Z0-9_-]{1,32}$")]
Text = Annotated[str, StringConstraints(min_length=1, max_length=4096, strip_whitespace=True)]
Url = Annotated[str, StringConstraints(max_length=2048), AfterValidator(_check_url)]
Parameters = Annotated[dict[str, Any], AfterValidator(_check_parameters)]


class _Tool(Definition):
    """The fields of every entry in ``tools``."""

    required_permissions: tuple[PermissionName, ...] = ()
    """The permissions a user needs. Without all of them, the tool does not exist for the user."""
    timeout_seconds: float = Field(default=30, validate_default=True, gt=0, le=600)
    """The time limit of one call."""
    _tenant_id: str | None = PrivateAttr(default=None)

    @property
    def tenant_id(self) -> str | None:
        """The tenant whose own agent has the tool; None: the agent ships with the deployment."""
        return self._tenant_id


class _OneTool(_Tool):
    """The fields of an entry that declares a single tool."""

    requires_approval: bool = False
    label: Label | None = None
    """Its name for people, such as ``Bike booking``. Default: its name for models."""
    asks: Question | None = None
    """The question for a person who approves a call, with placeholders for arguments."""

    @model_validator(mode="after")
    def _asks_only_for_approval(self) -> _OneTool:
        if self.asks is not None and not self.requires_approval:
            raise ValueError("asks is the question for an approval: set requires_approval too, or leave asks out")
        return self


class BackgroundRules(Definition):
    """The rules of a tool whose work may outlive its call, so that its result comes later."""

    expires_hours: float = Field(default=24, gt=0, le=24 * 30)
    """The time after which its work is abandoned."""
    cancel: bool = False
    """Whether a task that is cancelled or has expired is deleted at the address that an HTTP tool has given."""


class McpServer(_Tool):
    """The tools of a server that speaks MCP over streamable HTTP."""

    type: Literal["mcp"]
    name: ServerName
    """The prefix of tool names that another source uses too."""
    url: Url
    headers: Headers = Field(default_factory=dict)
    include: tuple[str, ...] | None = Field(default=None, min_length=1)
    """The tools to offer, by the server's names. Default: all."""
    requires_approval: bool | tuple[str, ...] = False
    """Whether each call needs approval: of all tools, or of those listed by the server's names."""
    label: dict[str, Label] = Field(default_factory=dict)
    """Names of tools for people, by the server's names. Default: the title that the server gives a tool."""
    asks: dict[str, Question] = Field(default_factory=dict)
    """The questions for people who approve calls, by the server's names."""
    background: BackgroundRules | None = None
    """Rules of tools that may answer with a task (MCP 2026-07-28); without them, every tool answers at once."""

    @field_validator("headers")
    @classmethod
    def _acts_for_no_user(cls, headers: dict[str, HeaderValue]) -> dict[str, HeaderValue]:
        # A server's tools are listed once for all users, so there is no user to act for.
        if any(isinstance(value, TokenExchange) for value in headers.values()):
            raise ValueError("token_exchange is for http and openapi tools and remote agents, not for MCP servers")
        return headers

    @model_validator(mode="after")
    def _asks_only_what_needs_approval(self) -> McpServer:
        for tool in self.asks:
            if not self.needs_approval(tool):
                raise ValueError(f"asks has a question for {tool}, whose calls need no approval by requires_approval")
        return self

    def needs_approval(self, tool: str) -> bool:
        """Return whether calls of ``tool``, the server's name, need approval."""
        if isinstance(self.requires_approval, bool):
            return self.requires_approval
        return tool in self.requires_approval


class HttpTool(_OneTool):
    """One HTTP operation."""

    type: Literal["http"]
    name: Name
    description: Text
    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] = "GET"
    url: Url
    """The URL. Each ``{placeholder}`` in path and query is a required argument."""
    parameters: Parameters = Field(default_factory=lambda: {"type": "object", "properties": {}})
    """JSON Schema of the arguments. Those without a placeholder go to the query (GET, HEAD, DELETE) or the body."""
    headers: Headers = Field(default_factory=dict)
    background: BackgroundRules | None = None
    """Rules of a tool that may answer 202 and report later; without them, such an answer is its result."""
    _is_guardrail: bool = PrivateAttr(default=False)
    _is_always_asked: bool = PrivateAttr(default=False)

    @property
    def is_guardrail(self) -> bool:
        """Whether the operation asks a guardrail. Failures of other tools at its host do not count against it."""
        return self._is_guardrail

    @property
    def is_always_asked(self) -> bool:
        """Whether the operation is called even after many failures."""
        return self._is_always_asked

    def of_guardrail(self, *, is_always_asked: bool) -> HttpTool:
        """Note that the tool asks a guardrail, and return the tool."""
        self._is_guardrail, self._is_always_asked = True, is_always_asked
        return self

    @model_validator(mode="after")
    def _placeholders_are_required_arguments(self) -> HttpTool:
        for name in PLACEHOLDER.findall(self.url):
            if name not in self.parameters.get("properties", {}):
                raise ValueError(f"url has the placeholder {{{name}}}, which parameters does not describe")
            if name not in self.parameters.get("required", ()):
                raise ValueError(f"url has the placeholder {{{name}}}, so parameters must require it")
        if re.search(r"[{}]", PLACEHOLDER.sub("", self.url)):
            raise ValueError("url has a brace that belongs to no placeholder")
        return self

    @model_validator(mode="after")
    def _acts_for_no_user_later(self) -> HttpTool:
        if self.background is not None and any(isinstance(value, TokenExchange) for value in self.headers.values()):
            raise ValueError(
                "background does not work with token_exchange, because nobody is signed in when the result is read: "
                "give the header a secret instead, or leave background out"
            )
        return self

    @model_validator(mode="after")
    def _labels_its_values(self) -> HttpTool:
        if problem := ArgumentSchema(self.parameters).find_label_problem():
            raise ValueError(problem)
        return self

    @model_validator(mode="after")
    def _asks_about_its_arguments(self) -> HttpTool:
        if self.asks is not None and (problem := find_question_problem(self.asks, ArgumentSchema(self.parameters))):
            raise ValueError(problem)
        return self


class OpenApiTool(_OneTool):
    """One operation of an API that an OpenAPI document (3.0 or 3.1) describes."""

    type: Literal["openapi"]
    spec: str = Field(min_length=1, max_length=2048)
    """URL of the document, or its path below the folder of the agents' files."""
    operation_id: str = Field(min_length=1, max_length=200)
    name: Name = ""
    """Default: the operation's id."""
    base_url: Url | None = None
    """The API's base URL. Default: the document's first server."""
    headers: Headers = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _derive_name_from_operation(cls, values: Any) -> Any:
        if isinstance(values, dict) and values.get("name") is None:
            operation = values.get("operation_id", values.get("operationId", ""))
            return {**values, "name": re.sub(r"[^a-zA-Z0-9_-]", "_", str(operation))[:64]}
        return values

    @model_validator(mode="after")
    def _spec_is_a_url_or_a_file_below_the_agents(self) -> OpenApiTool:
        if self.is_remote:
            _check_url(self.spec)
        elif self.spec.startswith("/") or "\\" in self.spec or ".." in self.spec.split("/"):
            raise ValueError("spec must be a URL, or a path below the folder of the agents' files")
        return self

    @property
    def is_remote(self) -> bool:
        """Whether the document must be fetched."""
        return re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:", self.spec) is not None


class PythonTool(_OneTool):
    """A function that ships with the deployment."""

    type: Literal["python"]
    name: Name = ""
    """Default: the function's name."""
    description: Text | None = None
    """Its purpose, for models. Default: the function's docstring, without the texts about parameters."""
    entry_point: str = Field(pattern=r"^[a-zA-Z_]\w*(\.[a-zA-Z_]\w*)*:[a-zA-Z_]\w*$")
    """``package.module:function``, in a package that ``BATON_TOOL_PACKAGES`` names."""
    parameters: Parameters | None = None
    """JSON Schema of the arguments. Default: derived from the function's signature, which then also converts them."""
    background: BackgroundRules | None = None
    """Rules of a tool that a worker carries out while the conversation continues; ``true`` for the defaults."""
    _function: Callable[..., Any] | None = PrivateAttr(default=None)

    @field_validator("background", mode="before")
    @classmethod
    def _read_background(cls, background: Any) -> Any:
        return {} if background is True else background or None

    @model_validator(mode="before")
    @classmethod
    def _derive_name_from_function(cls, values: Any) -> Any:
        if isinstance(values, dict) and values.get("name") is None:
            entry_point = values.get("entry_point", values.get("entryPoint", ""))
            function = str(entry_point).rpartition(":")[2][:64]
            return {**values, "name": function} if function else values
        return values

    @property
    def function(self) -> Callable[..., Any] | None:
        """The function of a tool that is declared in Python; None: it is imported by its entry point."""
        return self._function

    def of(self, function: Callable[..., Any]) -> PythonTool:
        """Note the function that the tool calls, and return the tool."""
        self._function = function
        return self


ToolDefinition = Annotated[McpServer | HttpTool | OpenApiTool | PythonTool, Field(discriminator="type")]
TOOL_TYPES: tuple[str, ...] = tuple(
    get_args(kind.model_fields["type"].annotation)[0] for kind in (HttpTool, McpServer, OpenApiTool, PythonTool)
)
