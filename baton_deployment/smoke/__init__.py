"""A smoke test of a deployment: a user's steps, which have time limits and leave nothing behind."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import httpx

from baton_client import AsyncBaton, BatonError
from baton_deployment.account import Account
from baton_deployment.checks import Check, Outcome, fails, fine, format_row, summarise, unknown
from baton_deployment.errors import DeploymentError
from baton_deployment.smoke.steps import Steps, describe_problem
from baton_deployment.smoke.target import Target, find_target, read_token
from baton_deployment.stages import Stage

Write = Callable[[str], None]
STEP_SECONDS = 120.0
"""The time limit of a step, which may include cold starts and an answer of the model, or the reading of a document."""
CLIENT_SECONDS = 60.0
"""The time limit of one request."""
WIDTH = 12
"""The width of the steps' names."""


@dataclass(frozen=True)
class Trial:
    """The result of a smoke test."""

    checks: tuple[Check, ...]

    @property
    def has_failed(self) -> bool:
        """Whether a step has failed."""
        return any(check.outcome is Outcome.FAILS for check in self.checks)

    @property
    def has_talked(self) -> bool:
        """Whether there was an answer, so that the model was tried."""
        return any(check.name == "HTTP" and check.outcome is Outcome.FINE for check in self.checks)


def try_deployed_stage(account: Account, stage: Stage, write: Write) -> None:
    """Test a deployed stage. Raises ``DeploymentError`` if a step fails.

    Without a token, because the stage has no embed key and the environment no ``TOKEN``, only the health is tested, and
    the other steps are shown as not checked.
    """
    target = find_target(account, stage, read_token())
    if run_smoke(target, write).has_failed:
        raise DeploymentError(f"{stage.stack} is deployed, but does not work: see the step that fails above.")


def run_smoke(target: Target, write: Write, step_seconds: float = STEP_SECONDS) -> Trial:
    """Test a target, and print a line for each step when it ends."""
    write(f"\nTrying {target.url}:\n")
    trial = asyncio.run(_try(target, write, step_seconds))
    write(f"\n{summarise(trial.checks)}")
    return trial


def require_success(trial: Trial) -> None:
    """Raise ``DeploymentError`` if a step has failed, or if no conversation was tried."""
    if trial.has_failed:
        raise DeploymentError("A step fails.")
    if not trial.has_talked:
        raise DeploymentError("No conversation was tried.")


async def _try(target: Target, write: Write, step_seconds: float) -> Trial:
    """Take the steps in their order. Show those that need a failed one as not checked."""
    checks: list[Check] = []

    def show(check: Check) -> Check:
        checks.append(check)
        for line in format_row(check, WIDTH):
            write(line)
        return check

    async def take_step(name: str, run: Callable[[], Awaitable[str]]) -> bool:
        return show(await _run_step(target, name, run, step_seconds)).outcome is Outcome.FINE

    async with AsyncBaton(
        target.url, token=target.token or "none", timeout=CLIENT_SECONDS, resume_seconds=step_seconds / 2, time_zone=""
    ) as client:
        steps = Steps(target, client, step_seconds)
        names = ("token", "HTTP", "WebSocket", "resume", "document", "forget")
        if not await take_step("health", steps.check_health):
            _skip(names, "the server is not well", show)
        elif target.token is None:
            _skip(names, target.reason, show)
        elif not await take_step("token", steps.check_token):
            _skip(names[1:], "the token is not accepted", show)
        else:
            try:
                await take_step("HTTP", steps.talk_over_http)
                if await take_step("WebSocket", steps.talk_over_socket):
                    await take_step("resume", steps.resume_events)
                if target.has_search:
                    await take_step("document", steps.try_document)
                else:
                    show(unknown("document", target.no_document))
            finally:
                await take_step("forget", steps.forget_user)
    return Trial(tuple(checks))


async def _run_step(target: Target, name: str, run: Callable[[], Awaitable[str]], seconds: float) -> Check:
    """Return the result of a step that may take so many seconds."""
    try:
        async with asyncio.timeout(seconds):
            return fine(name, await run())
    except (BatonError, DeploymentError, httpx.HTTPError, TimeoutError) as problem:
        return fails(name, describe_problem(problem), _find_advice(target, problem))


def _find_advice(target: Target, problem: Exception) -> str:
    """Return advice on the failure of a step; empty if the failure says enough."""
    code = getattr(problem, "code", None) or str(problem).partition(":")[0]
    if "model" in str(code):
        return "Is the model's key right, and ChatModel a model of its provider? `baton deploy STAGE --check --model`"
    if code == "unauthorized" and target.is_own_user:
        return "Functions keep secrets for 5 minutes: was the key changed just now?"
    if code == "unauthorized":
        return "TOKEN must be signed by an issuer of this server, or with one of its embed keys."
    return ""


def _skip(names: tuple[str, ...], reason: str, show: Callable[[Check], Check]) -> None:
    for name in names:
        show(unknown(name, reason))
