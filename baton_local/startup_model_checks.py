"""Checks of a developer's own models after the start, printed as tables of their abilities."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from baton.domain.agents.model_providers import ConfiguredModel, ModelKind, route
from baton.domain.errors import BatonError
from baton_client.model_tables import format_report
from baton_local.demo_model.sentence_encoder import SCHEME

if TYPE_CHECKING:
    from baton.agents.checks.model_checks import ModelChecks
    from baton_local.cloud import LocalCloud

Say = Callable[[str], None]

logger = logging.getLogger("baton_local")

HEAD = "Your models, tried with a few short requests (`baton doctor --models` does it again):"


class StartupModelChecks:
    """Checks of models in the background. Their tables are printed one after the other until ``stop``."""

    def __init__(
        self, checks: Callable[[], ModelChecks], is_own: Callable[[ModelChecks, ConfiguredModel], bool], say: Say
    ) -> None:
        """``checks`` may block. Models for which ``is_own`` is false are not tried.

        ``say`` prints a text. It is not called after ``stop`` has returned.
        """
        self._checks = checks
        self._is_own = is_own
        self._say = say
        self._lock = threading.Lock()
        self._is_stopped = False
        self._running: Future[None] | None = None

    def start(self) -> None:
        """Begin in the background, and return at once."""
        from baton.composition.startup import event_loop

        self._running = event_loop.begin(self._print())

    def stop(self) -> None:
        """Cancel the requests in progress, and stop printing tables. A repetition is not an error."""
        with self._lock:
            self._is_stopped = True
        if self._running is not None:
            self._running.cancel()

    async def _print(self) -> None:
        """Try the models, one after the other, and print the table of each."""
        try:
            checks, models = await asyncio.to_thread(self._find_models)
            lines = ["", HEAD]
            for model in models:
                self._print_text("\n".join([*lines, *await _check_model(checks, model)]))
                lines = []
        except Exception:
            if not self._is_stopped:  # the functions may have been stopped before the checks
                logger.exception("The models cannot be tried")

    def _find_models(self) -> tuple[ModelChecks, list[ConfiguredModel]]:
        checks = self._checks()
        return checks, [model for model in checks.list_models() if self._is_own(checks, model)]

    def _print_text(self, text: str) -> None:
        with self._lock:
            if not self._is_stopped:
                self._say(text)


async def _check_model(checks: ModelChecks, model: ConfiguredModel) -> list[str]:
    """Return the lines of the model's table, or a line with the reason why the model was not tried."""
    from baton.api.agents.models import ServedModelReport

    try:
        return format_report(ServedModelReport.of(await checks.check(model.name)).wire())
    except BatonError as problem:
        return [f"{model.name}: not tried. {problem.detail}"]


def is_own(checks: ModelChecks, model: ConfiguredModel, *, embedding_address: str, demo: str) -> bool:
    """Return whether a model is the developer's. The local cloud's models have addresses that begin with ``demo``.

    ``embedding_address`` is the address of the embedding model; empty if it is the same as the chat model's.
    """
    providers = checks.providers()
    provider = providers.get(route(model.name, providers).provider)
    address = provider.base_url if provider is not None else None
    if model.kind is ModelKind.EMBEDDING and embedding_address:
        address = embedding_address
    return not (address or "").startswith((demo, SCHEME))


@contextmanager
def print_model_checks(cloud: LocalCloud, say: Say) -> Iterator[None]:
    """Print the abilities of the developer's own models, in the background while the block runs."""
    from baton import composition

    embedding_address = cloud.environment.get("BATON_EMBEDDING_BASE_URL", "")
    own = partial(is_own, embedding_address=embedding_address, demo=f"{cloud.url}/local/")
    startup_checks = StartupModelChecks(lambda: composition.deployed().model_checks, own, say)
    startup_checks.start()
    try:
        yield
    finally:
        startup_checks.stop()
