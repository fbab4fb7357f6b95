"""Every store of A2A marks keeps its contract."""

from __future__ import annotations

from tests.contracts.a2a_tasks import A2ATasksContract


class TestA2ATasks(A2ATasksContract):
    pass
