"""The tracer of a deployment, and the flush of its spans after an answer was sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import ParamSpec, TypeVar

from baton.composition import parts
from baton.composition.startup.preloading import preload
from baton.ports.tracing import NO_TRACER, Tracer

P = ParamSpec("P")
T = TypeVar("T")

FLUSH_SECONDS = 1.0
"""The longest time for which an invocation waits for its spans after its answer was sent."""


def make_tracer(settings: parts.TraceSettings, secrets: Callable[[], parts.SecretsManager]) -> Tracer:
    """Return the tracer. OpenTelemetry's SDK is loaded only if the settings name a collector."""
    if settings.endpoint is None:
        return NO_TRACER

    preload("requests", "netrc")  # the exporter loads them with the first spans, perhaps during a request

    def read_headers() -> Mapping[str, str]:
        if settings.headers_secret is None:
            return {}
        return parts.parse_trace_headers(secrets().renew(settings.headers_secret))

    deployment, dropped = parts.TracedDeploymentSettings(), parts.SpansDropped()
    exporter = parts.RestingExporter(settings.endpoint, read_headers, dropped)
    resource = {
        "service.name": "baton",
        "service.instance.id": deployment.stack,
        "deployment.environment.name": deployment.stage,
    }
    max_waiting = parts.MAX_WAITING_WITH_CONTENT if settings.shows_content else parts.MAX_WAITING
    return parts.OtelTracer(
        parts.BoundedSending(exporter, dropped, max_waiting=max_waiting),
        dropped,
        resource=resource,
        shows_content=settings.shows_content,
        freezes=deployment.stage != "local",
    )


def find_provider(settings: parts.ProviderSettings, model: str) -> str:
    """Return the name of a model's provider in OpenTelemetry's semantic conventions.

    All endpoints with OpenAI's API are named ``openai``, as the conventions require.
    """
    return "aws.bedrock" if settings.is_on_bedrock(model) else "openai"


def flushed(tracer: Callable[[], Tracer]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator of Lambda handlers that sends the spans at the end of an invocation.

    Lambda freezes the process afterwards. Decorate handlers that do not return their answers, but send them for example
    over a WebSocket.
    """

    def decorate(handler: Callable[P, T]) -> Callable[P, T]:
        @wraps(handler)
        def run(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                return handler(*args, **kwargs)
            finally:
                tracer().flush(FLUSH_SECONDS)

        return run

    return decorate
