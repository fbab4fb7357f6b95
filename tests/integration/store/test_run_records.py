"""Every store of run records keeps its contract."""

from __future__ import annotations

from tests.contracts.run_records import TaskContract, ToolCallContract


class TestToolCalls(ToolCallContract):
    pass


class TestTasks(TaskContract):
    pass
