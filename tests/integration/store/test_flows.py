"""Every store of handoffs, workflows, skills and tenants' agents keeps its contract."""

from __future__ import annotations

from tests.contracts.agent_definitions import AgentDefinitionsContract
from tests.contracts.handoffs import HandoffContract
from tests.contracts.skills import SkillContract
from tests.contracts.workflows import WorkflowContract


class TestHandoffs(HandoffContract):
    pass


class TestWorkflows(WorkflowContract):
    pass


class TestAgentDefinitions(AgentDefinitionsContract):
    pass


class TestSkills(SkillContract):
    pass
