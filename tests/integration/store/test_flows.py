"""Every store of handoffs, desks, schedules, workflows, procedures, skills, captures and agents keeps its contract."""

from __future__ import annotations

from tests.contracts.agent_definitions import AgentDefinitionsContract
from tests.contracts.captures import CaptureContract
from tests.contracts.desks import DeskPlacesContract
from tests.contracts.handoffs import HandoffContract
from tests.contracts.private_skills import PrivateSkillContract
from tests.contracts.procedures import ProcedureContract
from tests.contracts.schedules import BackgroundTasksContract, DueItemsContract, SchedulesContract
from tests.contracts.workflows import WorkflowContract


class TestHandoffs(HandoffContract):
    pass


class TestDeskPlaces(DeskPlacesContract):
    pass


class TestSchedules(SchedulesContract):
    pass


class TestBackgroundTasks(BackgroundTasksContract):
    pass


class TestDueItems(DueItemsContract):
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
