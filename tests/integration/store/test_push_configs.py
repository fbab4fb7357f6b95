"""Every store of push notification configurations keeps its contract."""

from __future__ import annotations

from tests.contracts.push_configs import PushConfigsContract


class TestPushConfigs(PushConfigsContract):
    pass
