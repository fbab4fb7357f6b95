"""Every store of users' time zones keeps its contract."""

from __future__ import annotations

from tests.contracts.time_zones import TimeZonesContract


class TestTimeZones(TimeZonesContract):
    pass
