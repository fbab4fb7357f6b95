"""Events outside the sequence that tell a thread's connections of a change that is not part of its conversation."""

from __future__ import annotations

import contextlib

from baton.concurrency import gather_all
from baton.domain.errors import BatonError
from baton.domain.events import Event
from baton.domain.identity import Scope
from baton.outbox.connection_sender import WORKER_SECONDS, send_to
from baton.ports.clock import Clock
from baton.ports.connections import Connections, LiveRegistry


async def tell_connections(
    live: LiveRegistry, connections: Connections, clock: Clock, scope: Scope, thread_id: str, event: Event
) -> None:
    """Post ``event`` to all connections of the thread. A failure is not raised: the event says what can be read."""
    with contextlib.suppress(BatonError):
        attached = (await live.live(scope, thread_id)).connections
        now = clock.now()
        await gather_all(
            *(
                send_to(connections, connection_id, [event], patience=WORKER_SECONDS)
                for connection_id, token_expires_at in attached.items()
                if token_expires_at > now
            )
        )
