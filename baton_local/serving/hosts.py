"""Restrict the local cloud to programs and pages of this machine.

A web page whose name resolves to 127.0.0.1 (DNS rebinding) is refused by the name in ``Host``. A page of another site
that posts here is refused by its ``Origin``.
"""

import json
from collections.abc import Iterable
from urllib.parse import urlsplit

from baton.api.http.middleware import DEFAULTS
from baton.domain.tenants.egress_policy import LOOPBACK_HOSTS
from baton_local.serving.asgi import Scope, Send, answer

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class LocalHosts:
    """The host names that stand for this machine."""

    def __init__(self, more: Iterable[str] = ()) -> None:
        """``more`` are names in addition to localhost, ``*.localhost``, 127.0.0.1 and [::1], without ports."""
        self._names = LOOPBACK_HOSTS | {name.strip("[]").lower() for name in more}

    def find_refusal(self, scope: Scope) -> str | None:
        """Return why a request must not be served, or ``None``.

        Ports are not compared: a program that forwards another port runs on this machine, and a rebound name is refused
        whatever its port.
        """
        hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        origins = [value.decode("latin-1") for name, value in scope["headers"] if name == b"origin"]
        if len(hosts) != 1 or not self.include(hosts[0]):
            return f"The host {', '.join(hosts) or '(none)'} is not this machine. BATON_LOCAL_HOSTS names others."
        if scope.get("method", "GET") not in SAFE and not all(map(self._knows, origins)):
            return f"Pages of {', '.join(origins)} may not post here. BATON_LOCAL_HOSTS names hosts that may."
        return None

    def include(self, host: str) -> bool:
        """Return whether the value of a ``Host`` header stands for this machine."""
        return self._knows(f"//{host}")

    def _knows(self, url: str) -> bool:
        try:
            name = urlsplit(url).hostname or ""
        except ValueError:
            return False
        return name in self._names or name.endswith(".localhost")


async def refuse(send: Send, reason: str) -> None:
    """Answer 403 with the reason, as a problem document."""
    problem = {
        "type": "about:blank",
        "title": "Not for this host",
        "status": 403,
        "detail": reason,
        "code": "host_refused",
        "retryable": False,
        "requestId": None,
    }
    headers = [("Content-Type", "application/problem+json"), *DEFAULTS.items()]
    await answer(send, 403, headers, json.dumps(problem).encode())
