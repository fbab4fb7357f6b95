"""The composition of a deployment: ``ports`` joins ports to adapters, and ``app`` builds the use cases with them."""

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
"""The number of new objects after which Python collects garbage. Python's default is 2,000 or less."""
START_THRESHOLD = 500_000
"""The number of new objects before the first collection. A start creates 200,000 objects, with almost no garbage."""

gc.set_threshold(START_THRESHOLD)
dataclass_methods.take_compiled()
model_building.postpone()


def _lower_threshold(_phase: str, _info: object) -> None:
    gc.set_threshold(GARBAGE_THRESHOLD)
    with suppress(ValueError):  # a collection in another thread has removed the callback
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
    """Close the resources of agents' functions whose modules have been imported again."""
    for ports in deployed_ports.list_built():
        if "functions" in vars(ports):
            await ports.functions.close_replaced()


async def close_resources() -> None:
    """Close the resources of agents' functions in this process. Lambda environments end without calling it."""
    for ports in deployed_ports.list_built():
        if "functions" in vars(ports):
            await ports.functions.aclose()


def prepare_settings() -> None:
    """Read the settings if there is no usable copy. Handlers call it before the event loop needs the settings."""
    deployed_ports().settings.prepare()


def exempt_start_from_collection() -> None:
    """Exempt the objects of a function's start from garbage collection, which would take a tenth of a second.

    In the local cloud it does nothing, because one process loads several functions, and reloads them.
    """
    if not environment.current.get():
        gc.freeze()


def prepare_store() -> None:
    """Load the shapes of stored bodies in advance, so that the first read of a thread is fast."""
    from baton.adapters.dynamodb import shapes
    from baton.domain.threads import message

    shapes.load()
    model_building.build(message)


def prepare_turns() -> None:
    """Load clients of models, the token counter and the shapes of stored bodies, so that the first turn is fast."""
    from baton.domain.errors import InternalError, StoreUnavailable
    from baton.domain.threads import events, run_events

    preload(*HTTP_MODULES, *MODEL_MODULES)
    prepare_store()
    model_building.build(events, run_events)
    ports = deployed_ports()
    with suppress(StoreUnavailable, InternalError):  # the settings cannot be read; the first turn tries again
        ports.provider_models.load(ports.default_model)
        ports.find_context_limit(ports.default_model)  # reads the table of models
        if ports.deferred_embedder is not None:
            ports.deferred_embedder.load()
    if "openai" in sys.modules:  # one of the clients that were loaded above uses it
        preload(*OPENAI_MODULES)
    ports.tiktoken.prepare(agent.system_prompt for agent in ports.shipped_agents.all())
    exempt_start_from_collection()
