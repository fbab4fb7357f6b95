"""Every audit log keeps its contract."""

from __future__ import annotations

from tests.contracts.audit import AuditContract


class TestAudit(AuditContract):
    pass
