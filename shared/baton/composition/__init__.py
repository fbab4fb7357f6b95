"""The only package that joins ports to adapters: ``app`` builds the use cases from the ports in ``ports`` and ``aws``.

This module has what the Lambda functions ask for. Each object is built once per execution environment, when first
needed. The functions here contain their imports, because the authorizer must not load what conversations need.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from baton.composition.aws import AwsPorts
from baton.composition.environment import cache
from baton.composition.preloading import HTTP_MODULES, MODEL_MODULES, OPENAI_MODULES, preload

if TYPE_CHECKING:
    from baton.adapters.tokens import JwtVerifier
    from baton.composition.app import App
    from baton.entry.actions import Actions
    from baton.entry.ingestion_events import IngestionEvents
    from baton.entry.queued_turns import QueuedTurns
    from baton.entry.sweep import Sweeper
    from baton.knowledge.ingestion_starts import IngestionStarts
    from baton.knowledge.source_refresh import SourceRefreshes
    from baton.memory.episodes.session_closing import SessionClosing
    from baton.pipelines.admission import Admission
    from baton.privacy.forgetting import Forgetting
    from baton.privacy.retention import RetentionRuns
    from baton.procedures.learning import SessionLearning
    from baton.procedures.procedure_capture import ProcedureCapture


@cache
def deployed_ports() -> AwsPorts:
    """Return the ports of this execution environment."""
    return AwsPorts()


@cache
def deployed() -> App:
    """Return the use cases of this execution environment."""
    from baton.composition.app import build

    return build(deployed_ports())


def authorizer() -> JwtVerifier:
    """Return the verifier of tokens."""
    return deployed_ports().verifier


def sockets() -> Actions:
    """Return the handler of WebSocket frames."""
    return deployed().actions


def queued_turns() -> QueuedTurns:
    """Return the runner of queued turns."""
    return deployed().queued_turns


def dead_turns() -> QueuedTurns:
    """Return the handler of turns in the dead-letter queue."""
    return deployed().dead_turns


def closing() -> SessionClosing:
    """Return the pipeline that makes episodes of ended sessions."""
    return deployed().memory.session_closing


def session_learning() -> SessionLearning:
    """Return what makes up for what was not learned during a session."""
    return deployed().procedures.session_learning


def learning() -> ProcedureCapture:
    """Return the pipeline that makes procedures of completed tasks."""
    return deployed().procedures.capture


def admission() -> Admission:
    """Return the admission of the pipelines' runs."""
    return deployed_ports().admission


def ingestion() -> IngestionEvents:
    """Return the handler of stored documents, and of the steps of their pipeline."""
    return deployed().knowledge.ingestion_events


def source_refreshes() -> SourceRefreshes:
    """Return what reads the sources of documents."""
    return deployed().knowledge.source_refreshes


def ingestion_starts() -> IngestionStarts:
    """Return what starts pipelines of documents again."""
    return deployed().knowledge.ingestion_starts


def forgetting() -> Forgetting:
    """Return what carries out requests to forget."""
    return deployed().privacy.forgetting


def retention_runs() -> RetentionRuns:
    """Return the starter of retention runs."""
    return deployed().privacy.retention_runs


def sweeper() -> Sweeper:
    """Return the sweeper of due threads."""
    return deployed().sweeper


def prepare_store() -> None:
    """Load what a first reader of a conversation would load: what stored bodies are read with."""
    from baton.adapters.dynamodb import shapes

    shapes.load()


def prepare_turns() -> None:
    """Load in advance what the first turn would load: clients of models, the vocabulary and the stored shapes."""
    preload(*HTTP_MODULES, *MODEL_MODULES)
    prepare_store()
    ports = deployed_ports()
    ports.provider_models.load(ports.default_model)
    ports.context_tokens(ports.default_model)  # reads the table of models
    if ports.deferred_embedder is not None:
        ports.deferred_embedder.load()
    if "openai" in sys.modules:  # a client above uses it
        preload(*OPENAI_MODULES)
    ports.counter.load()
