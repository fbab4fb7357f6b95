"""Settings of the local cloud, from environment variables."""

import os
import textwrap
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Literal

import platformdirs
from pydantic import Field, SecretStr, ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, SettingsConfigDict

from baton import settings as families
from baton.domain.definition import get_message
from baton.settings.base import Settings
from baton.settings.models import ProviderSettings
from baton_local.demo_model.sentence_encoder import make_encoder_url
from baton_local.errors import LocalCloudError
from baton_local.gateway.websocket import SocketLimits
from baton_local.root import ROOT

MAX_REPORTED = 200
"""The most characters of a wrong value that an error quotes."""
_WORDS = {"bool_parsing": "Input should be true or false"}
"""Messages for errors whose text by pydantic does not say what is allowed."""
CONCURRENCY = 128
"""The default number of queued turns that run at the same time, so that a hundred conversations need not wait."""


class LocalSettings(BaseSettings):
    """The settings of a developer. An empty variable counts as not set."""

    model_config = SettingsConfigDict(env_ignore_empty=True, populate_by_name=True, frozen=True, extra="ignore")

    port: int = Field(8080, validation_alias="PORT", ge=0, le=65535)
    """0 takes a free port."""
    hosts: str = Field("", validation_alias="BATON_LOCAL_HOSTS")
    """Comma-separated host names of this machine in addition to localhost, for example of a proxy."""
    engines: Literal["embedded", "real"] = Field("embedded", validation_alias="ENGINES")
    """The search engine: the embedded index or a real OpenSearch."""
    data_dir: Path | None = Field(None, validation_alias="BATON_DATA_DIR")
    """The folder that keeps table, queues, objects, search index and token key between runs; None: nothing is kept."""
    tools_dir: Path = Field(default_factory=lambda: ROOT / "tools", validation_alias="BATON_TOOLS_DIR")
    """The folder of packages whose functions agents may have as tools. It need not exist."""
    documents_dir: Path = Field(default_factory=lambda: ROOT / "documents", validation_alias="BATON_DOCUMENTS_DIR")
    """The documents of the tenant ``demo``: a folder for each agent, named by its id. It need not exist."""
    library_permissions: dict[str, str] = Field(default_factory=dict, validation_alias="BATON_LIBRARY_PERMISSIONS")
    """The permissions that users need for the documents of libraries, by the libraries' names."""
    settings_file: Path = Field(
        default_factory=lambda: ROOT / "settings.local.yaml", validation_alias="BATON_LOCAL_SETTINGS"
    )
    """The settings document of the local cloud, in YAML or JSON. It need not exist."""
    secrets_file: Path = Field(
        default_factory=lambda: ROOT / "secrets.local.yaml", validation_alias="BATON_LOCAL_SECRETS"
    )
    """Secrets and parameters by name, in YAML or JSON. It need not exist."""
    reload: bool = Field(default=True, validation_alias="BATON_LOCAL_RELOAD")
    """Whether edits of agents, tools and documents are used by the next turn."""
    embed_keys: SecretStr | None = Field(None, validation_alias="BATON_EMBED_KEYS")
    """Embed keys of the developer's own host application, as in the embed keys secret."""
    cache_dir: Path = Field(default_factory=lambda: default_cache_dir(), validation_alias="BATON_CACHE_DIR")
    """The folder of downloaded engines, the embedding model, and translated templates."""
    workers: int = Field(CONCURRENCY, validation_alias="BATON_LOCAL_WORKERS", ge=0, le=1000)
    """Queued turns that run at the same time; 0 if separate processes run them."""
    worker_processes: int = Field(0, validation_alias="BATON_LOCAL_WORKER_PROCESSES", ge=0, le=16)
    """Worker processes for the functions fed by queues, which tests may kill; 0 to run them in this process."""
    visibility_seconds: int | None = Field(None, validation_alias="BATON_LOCAL_VISIBILITY_SECONDS", ge=0, le=43200)
    """The visibility timeout of queues, unless the function changes it. Default: the template's."""
    sweep_seconds: float | None = Field(None, validation_alias="BATON_LOCAL_SWEEP_SECONDS", ge=0)
    """The interval of the template's schedules; 0 for never. Default: the template's."""
    documentation: bool = Field(default=True, validation_alias="BATON_LOCAL_DOCS")
    """Whether the agents that answer from documents get Baton's own documentation, in the tenant ``demo``."""
    traces: bool = Field(default=True, validation_alias="BATON_LOCAL_TRACES")
    """Whether traces of turns are collected for the console."""
    logs: Literal["json", "text"] = Field("json", validation_alias="BATON_LOCAL_LOGS")
    """The lines of functions' logs: as Lambda's, or for people, with tracebacks."""
    recordings: Path | None = Field(None, validation_alias="BATON_LOCAL_RECORDINGS")
    """A folder for recordings of the functions' AWS calls, which `make test` evaluates with the roles."""
    template: Path = Field(ROOT / "template.yaml", validation_alias="BATON_LOCAL_TEMPLATE")
    built: Path | None = Field(None, validation_alias="BATON_LOCAL_BUILT")
    """The folder of a build (``.aws-sam/build``), whose functions run as Lambda runs them. Its template is used."""
    table_endpoint: str | None = Field(None, validation_alias="AWS_ENDPOINT_URL_DYNAMODB")
    """A running DynamoDB to use instead of starting DynamoDB Local."""
    files_endpoint: str | None = Field(None, validation_alias="AWS_ENDPOINT_URL_S3")
    """A running S3 to use instead of moto's."""
    search_endpoint: str | None = Field(None, validation_alias="OPENSEARCH_URL", pattern=r"^https?://")
    """A running OpenSearch to use with ``ENGINES=real`` instead of starting one."""
    limits: SocketLimits = SocketLimits()

    @property
    def template_file(self) -> Path:
        """The template, of the build if there is one."""
        return (self.built / "template.yaml" if self.built else self.template).resolve()

    @property
    def is_one_process(self) -> bool:
        """Whether all functions run in the local cloud's own process."""
        return not (self.built or self.worker_processes)

    @property
    def embedding_url(self) -> str | None:
        """The URL of this process's encoder; None if functions in other processes call it over HTTP."""
        return make_encoder_url(self.cache_dir) if self.is_one_process else None

    @property
    def host_names(self) -> list[str]:
        """``hosts`` as a list."""
        return [name.strip() for name in self.hosts.split(",") if name.strip()]


def default_cache_dir() -> Path:
    """Return the folder for downloads in the user's cache."""
    return Path(os.environ.get("BATON_CACHE_DIR") or platformdirs.user_cache_dir("baton"))


def read_settings(**values: Any) -> LocalSettings:
    """Return the settings. ``values`` override the environment. Raises ``LocalCloudError``, which names variables."""
    try:
        return LocalSettings(**values)
    except ValidationError as problem:
        raise LocalCloudError(_describe(problem.errors(include_url=False))) from problem


def check_function_settings() -> None:
    """Read the functions' variables before a function does. Raises ``LocalCloudError``, which names variables.

    Missing variables are not reported, because each function needs only some of them.
    """
    for family in import_families():
        try:
            family()
        except ValidationError as problem:
            is_shown = not family.model_config.get("hide_input_in_errors", False)
            errors = problem.errors(include_url=False, include_input=is_shown)
            wrong = [error for error in errors if error["type"] != "missing"]
            if wrong:
                raise LocalCloudError(_describe(wrong)) from (problem if is_shown else None)
    _check_profiles()


def import_families() -> list[type[Settings]]:
    """Import all modules of functions' settings, and return the classes of settings in them."""
    for module in iter_modules(families.__path__):
        import_module(f"{families.__name__}.{module.name}")
    result = Settings.__subclasses__()
    for family in result:  # the loop also visits the subclasses that it adds
        result += family.__subclasses__()
    return result


def find_model_endpoint(settings: ProviderSettings) -> str:
    """Return the URL of the chat model's provider, or "Amazon Bedrock" for a provider without a URL, for display."""
    provider = settings.providers[settings.route(settings.chat_model).provider]
    return provider.base_url or "Amazon Bedrock"


def _check_profiles() -> None:
    """Raise ``LocalCloudError`` if ``BATON_MODEL_PROFILES`` cannot be used."""
    from baton.adapters.models.profiles.profile import read_profile_overrides

    try:
        read_profile_overrides(ProviderSettings().model_profiles)
    except ValidationError:
        return  # a variable is missing, which only some functions need
    except ValueError as problem:
        _, _, wrong = str(problem).partition(": ")
        raise LocalCloudError(f"A setting is wrong. BATON_MODEL_PROFILES: {wrong}") from problem


def _describe(errors: Iterable[ErrorDetails]) -> str:
    return "A setting is wrong. " + "; ".join(
        f"{'.'.join(map(str, error['loc']))}: {_WORDS.get(error['type'], get_message(error))}"
        + (f" (it is {textwrap.shorten(repr(error['input']), MAX_REPORTED)})" if "input" in error else "")
        for error in errors
    )
