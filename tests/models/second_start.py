"""Make the use cases of a deployment twice in one process, ask a model of each provider, and print what it changed.

``python -m tests.models.second_start MODEL ...``, with the variables of a function. What the process has in common is
compared after the first and after the second time: nothing may be added again.
"""

from __future__ import annotations

import asyncio
import atexit
import gc
import json
import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from baton.adapters.aws.session import get_own_session, make_client
from baton.composition.app import build
from baton.composition.current_settings import make_environment_settings
from baton.composition.ports import Ports
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import ModelSettings, Prompt
from tests.harness.use_cases import use_cases

SEPARATE = ("settings",)
"""Ports that the program gives: the document needs a bucket."""


def start(models: list[str]) -> None:
    """Make every port and every use case, ask each model once, and make a client of each AWS service."""
    ports = Ports(settings=make_environment_settings())
    for name in dir(Ports):
        if name not in SEPARATE and isinstance(getattr(Ports, name), cached_property | property):
            getattr(ports, name)
    built = build(ports)
    for path in use_cases():
        attrgetter(path)(built)
    assert ports.deferred_embedder is not None
    ports.deferred_embedder.load()
    for model in models:
        asyncio.run(ask(ports, model))
    for service in Path("layers/dependencies/services.txt").read_text().split():
        make_client(service, region_name="us-east-1").close()


async def ask(ports: Ports, model: str) -> None:
    """Have the model answer, and close its connections."""
    files: Any = None
    answer = ports.model.stream(ModelSettings(model=model), [Prompt(Role.USER, "Hello")], thread_files=files)
    assert [chunk async for chunk in answer]
    await ports.provider_models.aclose()


def collect_shared_state() -> dict[str, Any]:
    """Return what a process has once: the part that libraries can add to."""
    gc.collect()  # the first time ends what was set for the start
    named = logging.root.manager.loggerDict.values()
    loggers = [logging.root, *(item for item in named if isinstance(item, logging.Logger))]
    emitter = get_own_session().get_component("event_emitter")
    return {
        "events of the AWS session": sum(1 for _ in handlers(emitter)),
        "default session of boto3": str(getattr(sys.modules.get("boto3"), "DEFAULT_SESSION", None)),
        **{f"log {logger.name}": [len(logger.handlers), len(logger.filters), logger.level] for logger in loggers},
        "signals": [str(signal.getsignal(number)) for number in sorted(signal.valid_signals())],
        "variables": dict(os.environ),
        "warnings": [str(item) for item in warnings.filters],
        "garbage": [gc.get_threshold(), len(gc.callbacks)],
        "imports": [len(sys.meta_path), len(sys.path_hooks), list(sys.path)],
        "hooks": [str(item) for item in (sys.excepthook, sys.unraisablehook, threading.excepthook)],
        "at exit": atexit._ncallbacks(),
        "threads": sorted(item.name for item in threading.enumerate() if not item.daemon),
        "tracing": str(getattr(sys.modules.get("opentelemetry.trace"), "_TRACER_PROVIDER", None)),
    }


def handlers(emitter: Any) -> Iterator[Any]:
    """Yield the handlers that are registered at botocore's emitter."""
    nodes = [emitter._emitter._handlers._root]
    while nodes:
        node = nodes.pop()
        nodes += node["children"].values()
        for item in node["values"] or ():
            yield from item


def functions_of_libraries() -> dict[str, int]:
    """Return every function of the loaded modules and their classes: one that differs later was replaced."""
    results: dict[str, int] = {}
    for module in [module for module in sys.modules.copy().values() if isinstance(module, ModuleType)]:
        for name, value in list(vars(module).items()):
            if isinstance(value, type) and value.__module__ == module.__name__:
                places: Mapping[str, object] = {f"{name}.{key}": value for key, value in list(vars(value).items())}
            else:
                places = {name: value}
            functions = {key: value for key, value in places.items() if isinstance(value, FunctionType)}
            results |= {f"{module.__name__}.{key}": id(function) for key, function in functions.items()}
    return results


def main() -> None:
    models = sys.argv[1:]
    start(models)
    before, functions = collect_shared_state(), functions_of_libraries()
    start(models)
    after, now = collect_shared_state(), functions_of_libraries()
    changed = {name: [before[name], after[name]] for name in before if before[name] != after[name]}
    replaced = sorted(name for name, function in functions.items() if now.get(name) != function)
    json.dump(changed | ({"functions": replaced} if replaced else {}), sys.stdout)


if __name__ == "__main__":
    main()
