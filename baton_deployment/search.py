"""Administer the search of a deployed stage by ``SearchFunction``, which is invoked until a command is complete."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from baton_deployment.account import Account, problems_explained
from baton_deployment.deployed_stack import read_outputs
from baton_deployment.errors import DeploymentError
from baton_deployment.functions import invoke
from baton_deployment.stages import Stage

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

COMMANDS = ("migrate", "reindex", "rebuild", "move", "verify", "repair")
FUNCTION_SECONDS = 900
"""The longest run of the function, for which the client waits."""
MAX_INVOCATIONS = 100
"""The most invocations for one command."""
MOVE_COUNTS = ("owners_moved", "documents_copied")


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A command, and the tenants, agents and users that it is about."""

    command: str
    """One of ``COMMANDS``."""
    tenants: Sequence[str] = ()
    """The tenants; empty for all."""
    agents: Sequence[str] = ()
    """The agents of one tenant to ``move``."""
    users: Sequence[str] = ()
    """The users of one tenant to ``move``."""
    grants: bool = False
    """Whether ``migrate`` grants the functions access to a domain whose administrator is the stack's ``SearchRole``."""


def administer_stage(
    account: Account, stage: Stage, request: SearchRequest, *, report: Callable[[str], None]
) -> dict[str, Any]:
    """Carry out a request in a deployed stage. See ``administer``. Raises ``DeploymentError``."""
    outputs = read_outputs(account, stage.stack)
    client = account.client("lambda", wait_seconds=FUNCTION_SECONDS)
    with problems_explained("The search cannot be administered"):
        return administer(client, outputs, request, report=report)


def administer(
    client: LambdaClient,
    outputs: Mapping[str, str],
    request: SearchRequest,
    *,
    report: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Carry out a request in the stack with these outputs, and return the result of its last invocation.

    ``report`` gets lines about the progress of a move. Raises ``DeploymentError``, for instance if the command stays
    incomplete, and errors of AWS.
    """
    function = outputs.get("SearchFunctionName")
    if function is None:
        raise DeploymentError("The stack has no search: deploy it without SearchEngine=none.")
    named = {"tenants": request.tenants, "agents": request.agents, "users": request.users}
    event: dict[str, Any] = {"command": request.command}
    event |= {name: list(names) for name, names in named.items() if names}
    if request.grants:
        event["roles"] = outputs["FunctionRoleArns"].split(",")
    moved: dict[str, int] = {}
    for _ in range(MAX_INVOCATIONS):
        moved_before = moved
        result = invoke(client, function, event)
        moved = {name: number + moved.get(name, 0) for name, number in result.items() if name in MOVE_COUNTS}
        if moved:
            result |= moved
            report(f"{moved['owners_moved']} owners moved, {moved['documents_copied']} documents copied")
        if result.get("is_complete", True):
            return result
        rest: dict[str, Any] = {name: result[name] for name in ("tenants", "positions") if name in result}
        has_done = result.get("documents_started") or result.get("episodes_indexed") or moved != moved_before
        if not has_done and event == {**event, **rest}:
            raise DeploymentError(f"{function} gets no further in its time. Name one tenant, or one index, at a time.")
        event |= rest
    raise DeploymentError(f"{function} is not done after {MAX_INVOCATIONS} invocations. Repeat the command.")


def is_sound(result: Mapping[str, Any]) -> bool:
    """Return whether the indices of all tenants in a result agree with the stored data."""
    return all(tenant.get("is_sound", True) for tenant in result.get("tenants", ()) if isinstance(tenant, Mapping))
