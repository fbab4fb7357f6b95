"""One message in, one answer out, without a stream."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from baton_client.addresses import given
from baton_client.asynchronous.resource import AsyncResource
from baton_client.errors import ConfigurationError
from baton_client.models import MessageAnswer
from baton_client.run_input import Content, WhileBusy, to_parts


class AsyncMessages(AsyncResource):
    """``client.messages``."""

    async def create(
        self,
        message: Content | None = None,
        *,
        thread_id: str | None = None,
        message_id: str | None = None,
        agent_id: str | None = None,
        branch: Mapping[str, Any] | None = None,
        time_zone: str | None = None,
        locale: str | None = None,
        while_busy: WhileBusy | None = None,
        over_spending: bool | None = None,
        timeout: float | None = None,
    ) -> MessageAnswer:
        """Send a message, wait until it is answered, and return the answer.

        ``thread_id`` may be the host application's own id; without one a conversation begins. ``message_id`` is the
        idempotency key: sending the same message again gives the same answer. ``branch`` is that of
        ``client.runs.stream``. ``time_zone`` and ``locale`` override those of the client. ``while_busy`` is the
        treatment of the message while a run is in progress; a message that enters the run gets the run's answer.
        ``over_spending`` continues beyond a spending limit that asks. ``timeout`` is in seconds; an answer can take
        minutes, and ``client.runs.stream`` shows it as it arrives. Raises ``ConfigurationError`` without message and
        branch.
        """
        if message is None and branch is None:
            raise ConfigurationError("Give a message, or a branch that answers an earlier message again.")
        body = {"messageId": message_id or str(uuid.uuid4())}
        content = to_parts(message) if message is not None else None
        zone = self._choose_zone(time_zone)
        optional = given(message=content, sessionId=thread_id, agentId=agent_id, branch=branch, timeZone=zone)
        optional |= given(locale=self._choose_locale(locale), whileBusy=while_busy, overSpending=over_spending)
        return await self._post("/v1/messages", MessageAnswer, body | optional, read_seconds=timeout)
