"""The evaluation that a new version of an agent needs before most new sessions use it."""

from __future__ import annotations

from dataclasses import dataclass

from baton.domain.errors import EvaluationRequired
from baton.domain.tenants.evaluation import MAX_EVALUATIONS, EvaluationEntry
from baton.domain.tenants.identity import Scope
from baton.ports.tenants.tenants import EvaluationStore
from baton.tenants.tenant_copies import CurrentLimits

FIRST_SHARE = 10
"""The percentage of new sessions that a version may have without an evaluation."""


@dataclass(frozen=True, slots=True)
class EvaluationGate:
    """The rule that ``agentEvaluation`` of the deployment's limits sets. Without it, everything is allowed."""

    evaluations: EvaluationStore
    limits: CurrentLimits

    async def check(
        self,
        scope: Scope,
        agent_id: str,
        number: int | None,
        share: int | None,
        override: str | None,
        *,
        is_deleted: bool = False,
    ) -> None:
        """Raise ``EvaluationRequired`` unless a version may have a ``share`` of new sessions, or be in force (None).

        ``share`` is a percentage. ``number`` is None for a version that is being made, which has no evaluation.
        ``override`` is the reason for which the version needs none. ``is_deleted``: no version of it is in force.
        """
        min_passed = (await self.limits.read_current(scope)).agent_evaluation
        if min_passed is None or override is not None or (share is not None and share <= FIRST_SHARE):
            return
        if number is None and is_deleted:
            raise EvaluationRequired(
                "The agent was deleted, so that all new sessions would use this version: roll the agent back to a"
                " version that was in force, then PUT this one with a share. Or send override with the reason."
            )
        if number is None:
            raise EvaluationRequired(
                f"A new version begins with at most {FIRST_SHARE} % of new sessions: send share={FIRST_SHARE} or less,"
                " evaluate it, then promote it. Or send override with the reason."
            )
        entry = (await self.read_latest(scope, agent_id)).get(number)
        if entry is None:
            raise EvaluationRequired(
                f"Version {number} has no evaluation: run `baton eval --agent {agent_id} --version {number}` and"
                " publish the results. Or send override with the reason."
            )
        if entry.not_run:
            raise EvaluationRequired(
                f"The last evaluation of version {number} is incomplete: {entry.not_run} of its runs did not take"
                " place. Evaluate it again. Or send override with the reason."
            )
        passed_share = entry.share_of_runs
        if passed_share is None or passed_share < min_passed:
            passed = "none" if passed_share is None else f"{passed_share:.1%}"
            raise EvaluationRequired(
                f"Of version {number}, {passed} of the runs passed in its last evaluation, and {min_passed:.1%} are"
                " needed. Runs that were not judged count as not passed. Or send override with the reason."
            )

    async def read_latest(self, scope: Scope, agent_id: str) -> dict[int, EvaluationEntry]:
        """Return the last evaluation of each version of an agent. Raises ``StoreUnavailable``."""
        latest: dict[int, EvaluationEntry] = {}
        entries, _ = await self.evaluations.page(scope, limit=MAX_EVALUATIONS, cursor=None)
        for entry in entries:  # the evaluation that began last comes first
            if entry.agent_id == agent_id and entry.agent_version is not None:
                latest.setdefault(entry.agent_version, entry)
        return latest
