"""Deployments: joins ports to adapters, and builds the use cases over them. ``app`` builds from ``ports``."""

from __future__ import annotations

import gc
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from baton.composition.startup import dataclass_methods, environment, model_building
from baton.composition.startup.environment import cache
from baton.composition.startup.preloading import HTTP_MODULES, MODEL_MODULES, OPENAI_MODULES, preload

if TYPE_CHECKING:
    from baton.composition.app import App
    from baton.composition.ports import Ports

GARBAGE_THRESHOLD = 50_000
"""New objects after which Python looks for garbage among them. Its default is 2,000 or less."""
START_THRESHOLD = 500_000
"""The same until the first collection. A start makes 200,000 objects, of which nearly none is garbage."""

gc.set_threshold(START_THRESHOLD)
dataclass_methods.take_compiled()
model_building.postpone()


def _lower_threshold(_phase: str, _info: object) -> None:
    gc.set_threshold(GARBAGE_THRESHOLD)
    with suppress(ValueError):  # the collection of another thread has removed it
        gc.callbacks.remove(_lower_threshold)


gc.callbacks.append(_lower_threshold)


@cache
def deployed_ports() -> Ports:
    """Return the ports of this execution environment."""
    from baton.composition.ports import Ports

    return Ports()


@cache
def deployed() -> App:
    """Return the use cases of this execution environment."""
    from baton.composition.app import build

    return build(deployed_ports())


async def close_replaced_resources() -> None:
    """Close the resources of functions whose modules were imported again since."""
    for ports in deployed_ports.built():
        if "functions" in vars(ports):
            await ports.functions.close_replaced()


async def close_resources() -> None:
    """Close the resources of agents' functions in this process. A Lambda environment ends without notice."""
    for ports in deployed_ports.built():
        if "functions" in vars(ports):
            await ports.functions.aclose()


def prepare_settings() -> None:
    """Read the settings if there is no usable copy. Handlers call it before the event loop needs them."""
    deployed_ports().settings.prepare()


def exempt_start_from_collection() -> None:
    """Exempt the objects of a function's start from garbage collection, which would take a tenth of a second.

    It does nothing in the local cloud, whose process loads several functions, and loads them again.
    """
    if not environment.current.get():
        gc.freeze()


def prepare_store() -> None:
    """Load the shapes of stored bodies in advance, for the first reader of a thread."""
    from baton.adapters.dynamodb import shapes
    from baton.domain.threads import message

    shapes.load()
    model_building.build(message)


def prepare_turns() -> None:
    """Load the clients of models, the token counter and the shapes of stored bodies in advance, for the first turn."""
    from baton.domain.errors import InternalError, StoreUnavailable
    from baton.domain.threads import events, run_events

    preload(*HTTP_MODULES, *MODEL_MODULES)
    prepare_store()
    model_building.build(events, run_events)
    ports = deployed_ports()
    with suppress(StoreUnavailable, InternalError):  # of the settings, which the first turn reads again
        ports.provider_models.load(ports.default_model)
        ports.context_tokens(ports.default_model)  # reads the table of models
    if ports.deferred_embedder is not None:
        ports.deferred_embedder.load()
    if "openai" in sys.modules:  # a client above uses it
        preload(*OPENAI_MODULES)
    ports.tiktoken.prepare(agent.system_prompt for agent in ports.shipped_agents.all())
    exempt_start_from_collection()
