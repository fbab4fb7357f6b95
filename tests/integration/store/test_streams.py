"""Every stream log, live registry and audit log keeps its contract."""

from __future__ import annotations

from tests.contracts.streams import AuditContract, LiveContract, StreamLogContract


class TestStreamLog(StreamLogContract):
    pass


class TestLive(LiveContract):
    pass


class TestAudit(AuditContract):
    pass
