"""``baton doctor``: problems between this machine and the server."""

from __future__ import annotations

import email.utils
import re
import time
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Annotated
from urllib.request import getproxies, proxy_bypass

import httpx
import typer

from baton_client.command.configuration import LOOPBACK
from baton_client.command.connection import Json
from baton_client.command.exits import CommandError, ExitCode, describe_problem, find_exit_code
from baton_client.command.model_checks import ModelCheck, check_model, explain_missing_models, list_models
from baton_client.command.session import AsJson, Session, run
from baton_client.command.token_store import find_keyring_name
from baton_client.errors import BatonError

MOST_SKEW_SECONDS = 60
"""The largest difference from the server's clock. Beyond it, tokens are refused as expired or not yet valid."""
UNCERTAIN_SECONDS = 5
"""The largest difference that the measurement itself may cause."""
SOON_SECONDS = 300
"""The time before the end of a token in which the user is warned."""
NEEDED_FOR_MODELS = frozenset({"server", "token"})
"""Checks without which models cannot be tried."""


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check."""

    name: str
    ok: bool
    detail: str
    advice: str | None = None
    """The remedy."""
    code: int = ExitCode.OK
    """The exit code if this is the first that is not ok."""


def doctor(
    context: typer.Context,
    models: Annotated[bool, typer.Option("--models", help="Also test what the deployment's models can do.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check server, clock, token, versions, keyring and proxies, and suggest remedies."""

    async def command(session: Session) -> None:
        checks: list[Check] = []
        async for check in _run_checks(session):
            checks.append(check)
            _show(session, check)
        model_checks: list[ModelCheck] = []
        if models and all(check.ok for check in checks if check.name in NEEDED_FOR_MODELS):
            listed, check = await _list_models(session)
            checks.append(check)
            _show(session, check)
            for model in listed:
                model_checks.append(await check_model(session, model))
                if not session.output.is_json:
                    for line in ("", *model_checks[-1].lines):
                        session.output.print_line(line)
        wrong = [check for check in checks if not check.ok]
        unusable = [model_check.name for model_check in model_checks if not model_check.is_usable]
        if session.output.is_json:
            lines = [{name: value for name, value in asdict(check).items() if name != "code"} for check in checks]
            of_models = {"models": [model_check.to_json() for model_check in model_checks]} if models else {}
            session.output.print_json({"ok": not wrong and not unusable, "checks": lines, **of_models})
        if wrong:
            raise CommandError(f"{len(wrong)} of {len(checks)} checks found a problem.", ExitCode(wrong[0].code))
        if unusable:
            raise CommandError(f"Not usable as they are: {', '.join(unusable)}.")

    run(context, command, as_json=as_json)


def _show(session: Session, check: Check) -> None:
    """Print a check for people."""
    if session.output.is_json:
        return
    session.output.print_line(f"{'ok     ' if check.ok else 'PROBLEM'} {check.name}: {check.detail}")
    if check.advice:
        session.output.print_line(f"        {check.advice}")


async def _list_models(session: Session) -> tuple[list[Json], Check]:
    try:
        listed = await list_models(session)
    except BatonError as problem:
        return [], Check("models", False, str(problem), explain_missing_models(problem), find_exit_code(problem))  # noqa: FBT003
    return listed, Check("models", ok=True, detail=f"{len(listed)} to try, with a few short requests each")


async def _run_checks(session: Session) -> AsyncIterator[Check]:
    profile = session.profile
    yield Check("configuration", True, f"profile {profile.name}, {profile.url}")  # noqa: FBT003
    yield _check_proxy(httpx.URL(profile.url))
    yield _check_keyring(session)
    try:
        health = await session.http.get(f"{profile.url}/health")
        served = health.json()["version"]
    except (httpx.HTTPError, ValueError, KeyError, TypeError) as problem:
        detail = f"{profile.url} does not answer as Baton does ({type(problem).__name__})"
        remedy = "Is the address right (BATON_URL, --url), and the server running? Locally: `baton dev`, or `make run`."
        yield Check("server", False, detail, remedy, ExitCode.UNREACHABLE)  # noqa: FBT003
        return
    yield Check("server", True, f"answers, version {served}")  # noqa: FBT003
    yield _check_clock(health.headers.get("date"), time.time())
    yield _check_versions(str(served), version("baton-client"))
    yield await _check_token(session)


def _check_proxy(url: httpx.URL) -> Check:
    proxy = None if proxy_bypass(url.host) else getproxies().get(url.scheme)
    if proxy is None:
        return Check("proxy", ok=True, detail="none for this address")
    # The proxy's user and password must not be shown.
    address = httpx.URL(proxy).copy_with(username=None, password=None)
    is_local = url.host in LOOPBACK
    remedy = "Set NO_PROXY=127.0.0.1,localhost." if is_local else "If it breaks streams, put the host into NO_PROXY."
    return Check("proxy", not is_local, f"{address}", remedy, ExitCode.UNREACHABLE)


def _check_keyring(session: Session) -> Check:
    if session.sign_in.is_variable:
        return Check("keyring", ok=True, detail="not used: BATON_TOKEN is set")
    if session.profile.token_file:
        return Check("keyring", ok=True, detail="not used: tokens are in a file")
    name = find_keyring_name()
    if name is None:
        remedy = "Set BATON_TOKEN, or sign in by `baton login --token-file`."
        return Check("keyring", False, "there is none", remedy, ExitCode.FORBIDDEN)  # noqa: FBT003
    return Check("keyring", ok=True, detail=name)


def _check_clock(date: str | None, now: float) -> Check:
    try:
        skew = now - email.utils.parsedate_to_datetime(date or "").timestamp()
    except (TypeError, ValueError):
        return Check("clock", ok=True, detail="unknown: the server does not tell the time")
    is_right = abs(skew) <= MOST_SKEW_SECONDS
    # The header has whole seconds, and the answer was on its way for some time.
    is_same = abs(skew) < UNCERTAIN_SECONDS
    detail = (
        "that of the server" if is_same else f"{abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} the server's"
    )
    remedy = None if is_right else "Set this machine's clock: tokens are refused otherwise."
    return Check("clock", is_right, detail, remedy, ExitCode.FAILED)


def _check_versions(served: str, own: str) -> Check:
    detail = f"server {served}, this command {own}"
    server, client = _parse_release(served), _parse_release(own)
    if not server or not client or server == client:
        return Check("versions", ok=True, detail=detail)
    if server > client:
        advice = "Update this command: `pip install -U 'baton-client[command]'`."
    else:
        advice = "The server is older: commands that it does not know will fail."
    return Check("versions", False, detail, advice, ExitCode.FAILED)  # noqa: FBT003


async def _check_token(session: Session) -> Check:
    try:
        who = await session.connection.get("/v1/users/me")
    except (BatonError, CommandError) as problem:
        remedy = describe_problem(problem).removeprefix(str(problem)).strip() or None
        return Check("token", False, str(problem), remedy, find_exit_code(problem))  # noqa: FBT003
    permissions = ", ".join(who.get("permissions") or []) or "none"
    detail = f"{who.get('userId')} of {who.get('tenantId')}; permissions: {permissions}; until {who.get('expiresAt')}"
    seconds = _count_seconds_left(who.get("expiresAt"))
    if seconds is not None and seconds < SOON_SECONDS and session.sign_in.is_variable:
        return Check("token", True, detail, "It expires soon: set BATON_TOKEN to a new one.")  # noqa: FBT003
    return Check("token", ok=True, detail=detail)


def _count_seconds_left(expires_at: object) -> float | None:
    try:
        return (datetime.fromisoformat(str(expires_at)) - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError):
        return None


def _parse_release(text: str) -> tuple[int, ...]:
    """Return the first two numbers of a version: patches fit each other."""
    match = re.match(r"(\d+)\.(\d+)", text)
    return tuple(int(group) for group in match.groups()) if match else ()
