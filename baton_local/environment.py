"""The environment variables of functions on this machine."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from baton.domain.agents.model_providers import BEDROCK_PROVIDER, DEFAULT_PROVIDER, route
from baton_local.account import ACCESS_KEY_ID, REGION, SECRET_ACCESS_KEY
from baton_local.demo_model.sentence_encoder import DIMENSIONS
from baton_local.demo_model.sentence_encoder import NAME as EMBEDDING_MODEL
from baton_local.errors import TemplateProblem
from baton_local.root import ROOT, TOKENIZER
from baton_local.stack.declarations import FunctionDefinition
from baton_local.traces import PATH as TRACES_PATH

DEMO_MODEL = "baton-demo"
NO_EMBEDDINGS = "off"
"""The value of ``BATON_EMBEDDING_MODEL`` that turns embeddings off."""

RUNS_AT_ONCE, RUNS_OF_TENANT = 3, 2
"""The most runs of a pipeline at the same time: of all tenants, and of one. More would slow each other down on one
machine."""

SETTINGS_SECONDS = "2"
"""Seconds for which functions use a copy of the settings document, so that an edit is soon in use."""

DEVELOPERS_CHOICE = (
    "BATON_AGENTS_DIR",
    "BATON_ALLOWED_HOSTS",
    "BATON_ALLOWED_ORIGINS",
    "BATON_BEDROCK_CONFIG_FILE",
    "BATON_BEDROCK_CREDENTIALS_FILE",
    "BATON_BEDROCK_ENDPOINT",
    "BATON_BEDROCK_GUARDRAIL",
    "BATON_BEDROCK_PROFILE",
    "BATON_BEDROCK_REGION",
    "BATON_CARD_KEYS",
    "BATON_CHAT_MODEL",
    "BATON_DELEGATION_KEYS",
    "BATON_EMBEDDING_BASE_URL",
    "BATON_EMBEDDING_DIMENSIONS",
    "BATON_EMBEDDING_MODEL",
    "BATON_DEFAULT_AGENT",
    "BATON_EPISODE_FACTS",
    "BATON_HOOKS",
    "BATON_INSPECTOR",
    "BATON_INSPECTOR_RATE",
    "BATON_INSPECTOR_REDACT",
    "BATON_FORGET_WAIT_SECONDS",
    "BATON_LEARNING",
    "BATON_LEASE_SECONDS",
    "BATON_LIGHT_MODEL",
    "BATON_LOCAL_OPEN_A2A",
    "BATON_MODEL_METADATA",
    "BATON_MODEL_PRICES",
    "BATON_MODEL_PROFILES",
    "BATON_MODEL_PROVIDERS",
    "BATON_MODEL_CACHE_HINTS",
    "BATON_PHONE_REGIONS",
    "BATON_PIPELINES_AT_ONCE",
    "BATON_PIPELINES_OF_TENANT",
    "BATON_PUBLIC_URL",
    "BATON_PUSH_HOSTS",
    "BATON_RECALL_DEADLINE_MS",
    "BATON_SEARCH_PREFIX",
    "BATON_SEARCH_REPLICAS",
    "BATON_SEARCH_SHARDS",
    "BATON_SETTINGS_SECONDS",
    "BATON_TENANT_LIMITS",
    "BATON_THREAD_TITLES",
    "BATON_TOKEN_ISSUERS",
    "BATON_TOOL_PACKAGES",
    "BATON_TRACES_CONTENT",
    "BATON_TRACES_ENDPOINT",
    "BATON_TRACES_HEADERS_SECRET",
    "BATON_WEBHOOKS",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "POWERTOOLS_LOG_LEVEL",
)
"""Variables of the developer that override the template's or add to them."""

LOCAL_CLOUDS = ("BATON_PIPELINES_SINCE", "BATON_SETTINGS_SECONDS")
"""Variables that the local cloud sets and the template does not."""

OPENAI = "https://api.openai.com/v1"

NEVER_THE_REAL_CLOUD = (
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_DEFAULT_PROFILE",
    "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
    "AWS_PROFILE",
    "AWS_ROLE_ARN",
    "AWS_SESSION_TOKEN",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
)
"""Variables that are removed, so that no call reaches an AWS account of the developer."""


def make_variables(
    functions: Mapping[str, FunctionDefinition],
    *,
    gateway: str,
    table_endpoint: str,
    files_endpoint: str,
    queues_endpoint: str,
    other_endpoint: str,
    search_url: str,
    embedding_url: str | None = None,
    collects_traces: bool = True,
) -> dict[str, str]:
    """Return the variables that the template gives its functions, with this machine's endpoints and folders.

    The developer's variables in ``DEVELOPERS_CHOICE`` override them. ``gateway`` is the base of the REST API;
    ``search_url`` is empty if the index is embedded; ``other_endpoint`` serves all services without another endpoint.
    ``embedding_url`` is the URL of the local cloud's own embeddings; None means the demo model's. ``collects_traces``
    sends traces to the local cloud. All functions share one process and so one environment. Raises ``TemplateProblem``
    if two functions have different values of a variable.
    """
    merged = _merge(functions)
    demo = f"{gateway}/local/openai/v1"
    merged["OPENAI_BASE_URL"] = demo
    merged["OPENAI_API_KEY"] = "offline"
    merged["BATON_AGENTS_DIR"] = str(ROOT / "agents")
    merged["BATON_SETTINGS_SECONDS"] = SETTINGS_SECONDS
    merged["BATON_PIPELINES_SINCE"] = datetime.now(UTC).isoformat()  # executions end with the process
    merged |= {"BATON_PIPELINES_AT_ONCE": str(RUNS_AT_ONCE), "BATON_PIPELINES_OF_TENANT": str(RUNS_OF_TENANT)}
    merged["BATON_TRACES_ENDPOINT"] = f"{gateway}{TRACES_PATH}" if collects_traces else ""
    merged["POWERTOOLS_LOG_LEVEL"] = "WARNING"
    chosen = {name: os.environ[name] for name in DEVELOPERS_CHOICE if os.environ.get(name)}
    if "OPENAI_API_KEY" in chosen and "BATON_CHAT_MODEL" in chosen:
        # A key alone may be meant for another program. A key with a model name is meant for Baton.
        merged["OPENAI_BASE_URL"] = OPENAI
    elif _names_a_provider(chosen):
        merged["OPENAI_BASE_URL"] = ""  # otherwise the demo model would answer in place of the developer's model
    merged |= _find_aws_configuration(os.environ) | chosen
    merged["BATON_AGENTS_DIR"] = str(Path(merged["BATON_AGENTS_DIR"]).absolute())
    if merged["OPENAI_BASE_URL"] == demo:
        for name, model in (("BATON_CHAT_MODEL", DEMO_MODEL), ("BATON_LIGHT_MODEL", f"{DEMO_MODEL}-light")):
            merged[name] = chosen.get(name, model)
        merged["BATON_MODEL_METADATA"] = "true"  # the demo model reads the state of a conversation from metadata only
    if merged.get("BATON_EMBEDDING_MODEL") == NO_EMBEDDINGS:
        merged["BATON_EMBEDDING_MODEL"] = ""
    if embeds_by_itself():
        merged |= {
            "BATON_EMBEDDING_MODEL": EMBEDDING_MODEL,
            "BATON_EMBEDDING_DIMENSIONS": str(DIMENSIONS),
            "BATON_EMBEDDING_BASE_URL": embedding_url or demo,
        }
    return merged | {
        "AWS_ACCESS_KEY_ID": ACCESS_KEY_ID,
        "AWS_SECRET_ACCESS_KEY": SECRET_ACCESS_KEY,
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_ENDPOINT_URL": other_endpoint,
        "AWS_ENDPOINT_URL_DYNAMODB": table_endpoint,
        "AWS_ENDPOINT_URL_S3": files_endpoint,
        "AWS_ENDPOINT_URL_SFN": other_endpoint,
        "AWS_ENDPOINT_URL_SQS": queues_endpoint,
        "BATON_SEARCH_URL": search_url,
        "BATON_STAGE": "local",
        # The sentence encoder has its own threads. The library's would wait for each other in busy loops.
        "OPENBLAS_NUM_THREADS": "1",
        "POWERTOOLS_METRICS_DISABLED": "true",
        "POWERTOOLS_TRACE_DISABLED": "true",
        "TIKTOKEN_CACHE_DIR": str(TOKENIZER),
    }


def list_local_names(functions: Mapping[str, FunctionDefinition]) -> frozenset[str]:
    """Return the names of variables that every function has here, but none that is deployed from this template."""
    names = {*DEVELOPERS_CHOICE, *LOCAL_CLOUDS} - {"OPENAI_API_KEY"}  # functions read it as a secret, as when deployed
    return frozenset(names.difference(*(function.variables for function in functions.values())))


def _find_aws_configuration(developers: Mapping[str, str]) -> dict[str, str]:
    """Return the files of the developer's AWS configuration, which only calls of Amazon Bedrock use.

    The result is empty unless ``BATON_BEDROCK_PROFILE`` is set.
    """
    if not developers.get("BATON_BEDROCK_PROFILE"):
        return {}
    files = {
        "BATON_BEDROCK_CONFIG_FILE": developers.get("AWS_CONFIG_FILE"),
        "BATON_BEDROCK_CREDENTIALS_FILE": developers.get("AWS_SHARED_CREDENTIALS_FILE"),
    }
    return {name: file for name, file in files.items() if file}


def _names_a_provider(chosen: Mapping[str, str]) -> bool:
    """Return whether the developer's chat model belongs to a named provider, so that no default provider is needed."""
    try:
        named = json.loads(chosen.get("BATON_MODEL_PROVIDERS", "{}"))
    except ValueError:
        named = {}  # the check of settings reports the mistake
    providers = {BEDROCK_PROVIDER: {}, **(named if isinstance(named, dict) else {})}
    return route(chosen.get("BATON_CHAT_MODEL", ""), providers).provider != DEFAULT_PROVIDER


def embeds_by_itself() -> bool:
    """Return whether the local cloud makes embeddings itself, because the developer names no model for them."""
    return not os.environ.get("BATON_EMBEDDING_MODEL")


@contextmanager
def applied(values: Mapping[str, str]) -> Iterator[None]:
    """Set ``values`` in ``os.environ`` during the block, and remove the variables in ``NEVER_THE_REAL_CLOUD``."""
    before = {name: os.environ.get(name) for name in (*values, *NEVER_THE_REAL_CLOUD)}
    for name in NEVER_THE_REAL_CLOUD:
        os.environ.pop(name, None)
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


FUNCTIONS_OWN = ("POWERTOOLS_", "AWS_LWA_", "AWS_LAMBDA_EXEC_WRAPPER")
"""Prefixes of variables for a function's start or its log, which may differ between functions."""


def _merge(functions: Mapping[str, FunctionDefinition]) -> dict[str, str]:
    """Return the variables of all functions. Of those in ``FUNCTIONS_OWN``, the first function's value counts."""
    merged: dict[str, str] = {}
    for function in functions.values():
        for name, value in function.variables.items():
            if merged.setdefault(name, value) != value and not name.startswith(FUNCTIONS_OWN):
                raise TemplateProblem(
                    f"{function.name} sets {name} to {value!r}, another function to {merged[name]!r}: "
                    "functions share one environment in the local cloud, so give the variables different names."
                )
    return merged
