"""The only place that joins ports to adapters: ``app`` has the use cases, ``ports`` and ``aws`` what they stand on.

What functions ask for is here. It is built once per execution environment, when first needed. Imports stand inside the
functions: the authorizer must not load what conversations need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from baton.composition.aws import AwsPorts
from baton.composition.environment import cache
from baton.composition.preloading import HTTP_MODULES, MODEL_MODULES, preload

if TYPE_CHECKING:
    from baton.adapters.tokens import JwtVerifier
    from baton.composition.app import App
    from baton.entry.actions import Actions
    from baton.entry.queued_turns import QueuedTurns
    from baton.entry.sweep import Sweeper
    from baton.turns.closing import EpisodeWriter


@cache
def deployed_ports() -> AwsPorts:
    """The ports of this execution environment."""
    return AwsPorts()


@cache
def deployed() -> App:
    """The use cases of this execution environment."""
    from baton.composition.app import build

    return build(deployed_ports())


def authorizer() -> JwtVerifier:
    """Verifies tokens."""
    return deployed_ports().verifier


def sockets() -> Actions:
    """Takes WebSocket frames."""
    return deployed().actions


def queued_turns() -> QueuedTurns:
    """Runs turns from the queue."""
    return deployed().queued_turns


def dead_turns() -> QueuedTurns:
    """Ends turns that the queue has given up."""
    return deployed().dead_turns


def closing() -> EpisodeWriter:
    """Makes episodes of ended sessions."""
    return deployed().episode_writer


def sweeper() -> Sweeper:
    """Looks at threads that are due."""
    return deployed().sweeper


def prepare_store() -> None:
    """Load what a first reader of a conversation would load: what stored bodies are read with."""
    from baton.adapters.dynamodb import shapes

    shapes.load()


def prepare_turns() -> None:
    """Load what a first turn would load: the model's client, the vocabulary, the store."""
    preload(*HTTP_MODULES, *MODEL_MODULES)
    prepare_store()
    deployed_ports().deferred_model.load()
    deployed_ports().counter.load()
