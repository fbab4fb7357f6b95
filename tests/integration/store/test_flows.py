"""Every store of handoffs, workflows, procedures, private skills, captures and tenants' agents keeps its contract."""

from __future__ import annotations

from tests.contracts.agent_definitions import AgentDefinitionsContract
from tests.contracts.captures import CaptureContract
from tests.contracts.handoffs import HandoffContract
from tests.contracts.private_skills import PrivateSkillContract
from tests.contracts.procedures import ProcedureContract
from tests.contracts.workflows import WorkflowContract


class TestHandoffs(HandoffContract):
    pass


class TestWorkflows(WorkflowContract):
    pass


class TestCaptures(CaptureContract):
    pass


class TestAgentDefinitions(AgentDefinitionsContract):
    pass


class TestProcedures(ProcedureContract):
    pass


class TestPrivateSkills(PrivateSkillContract):
    pass
