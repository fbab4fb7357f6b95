"""Taking a thread's lease for a message, while other workers carry out runs of the thread."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from baton.domain.errors import ThreadBusy
from baton.domain.thread import LeaseMark, RunStatus
from baton.leases import POLL_SECONDS, LeaseWatch
from baton.ports.leases import Lease, LeaseBusy, LeaseRequest
from baton.turns.committing import FinishedRun
from baton.turns.repeats import Repeats, find_finished
from baton.turns.turn_call import TurnCall
from baton.turns.turn_services import TurnServices


@dataclass(frozen=True, slots=True)
class Acquisition:
    """Takes leases, unless another worker answers the message first."""

    services: TurnServices
    repeats: Repeats

    async def acquire(self, call: TurnCall, wanted: LeaseRequest) -> Lease | FinishedRun:
        """Return the lease when the thread is free, or the message's run if another worker has finished it meanwhile.

        Raises ``ThreadBusy`` when the caller's time is over, ``NoSuchThread``, ``ThreadUnavailable`` and
        ``MessageIdConflict``.
        """
        store, loop = self.services.store, asyncio.get_running_loop()
        while True:
            try:
                return await store.acquire(call.scope, wanted)
            except LeaseBusy as error:
                busy = error
            dead: LeaseMark | None = None
            known = await store.get_turn(call.scope, wanted.thread_id, call.request.message_id)
            if known is not None:
                finished = await find_finished(store, call, known)
                if finished is not None:
                    return finished
                if busy.run is not None and busy.run.message_id == call.request.message_id:
                    dead = await self.repeats.follow(call, known.run_id)
            if busy.run is not None:
                wanted = replace(wanted, presumed_dead=dead or await self._wait_until_free(call))
            elif loop.time() >= call.wait_until:
                raise ThreadBusy
            else:  # held for a close or a fork, which sends no sign of life
                await asyncio.sleep(POLL_SECONDS)

    async def _wait_until_free(self, call: TurnCall) -> LeaseMark | None:
        """Wait until the run in progress ends or its worker dies; return the lease of a worker presumed dead."""
        thread_id = call.request.thread.id
        watch = LeaseWatch(self.services.live, call.scope, thread_id, self.services.lease_times)
        while asyncio.get_running_loop().time() < call.wait_until:
            thread = await self.services.store.get_thread(call.scope, thread_id)
            if thread.run is None or thread.run.status is RunStatus.INTERRUPTED:
                return None
            dead = await watch.look(thread)
            if dead is not None:
                return dead
            await asyncio.sleep(POLL_SECONDS)
        raise ThreadBusy
