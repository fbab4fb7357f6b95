"""Clients of Baton for people and users of Slack."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from baton_client import AsyncBaton
from baton_slack.configuration import Configuration, PeopleChannel
from baton_slack.identities import SERVICE, Identity, Member, TokenMaker, make_token, make_user_id

Json = dict[str, Any]


class NotAllowed(Exception):
    """An action that a member may not do. The message is for the member."""


class Accounts:
    """Clients of Baton whose tokens name the person or user who acts."""

    def __init__(self, baton: AsyncBaton, make: TokenMaker, configuration: Configuration) -> None:
        self._baton = baton
        self._make = make
        self._configuration = configuration

    async def of_person(self, member: Member, channel: PeopleChannel, permission: str) -> AsyncBaton:
        """Return the client of a person who acts in ``channel``. Raises ``NotAllowed``."""
        is_named = not channel.people or member.id in channel.people
        if not member.is_full or not is_named:
            raise NotAllowed("You may not do this here: only full members of the workspace who are allowed to may.")
        return await self._make_member_client(member, (permission, *channel.permissions))

    async def of_user(self, member: Member) -> AsyncBaton:
        """Return the client of a user who talks to an agent. Raises ``NotAllowed``."""
        if not member.is_full:
            raise NotAllowed("Only full members of this workspace can talk to me.")
        users = self._configuration.users
        return await self._make_member_client(member, users.permissions if users else ())

    async def of_service(self, permissions: Iterable[str]) -> AsyncBaton:
        """Return the client with which the channel itself reads conversations at desks."""
        return await self._make_client(Identity(SERVICE, "Slack", ("desk:answer", *permissions)), None)

    async def _make_member_client(self, member: Member, permissions: tuple[str, ...]) -> AsyncBaton:
        user_id = make_user_id(member, self._configuration.identify)
        if user_id is None:
            raise NotAllowed("Slack says of no e-mail address in your profile that it is confirmed.")
        return await self._make_client(
            Identity(user_id, member.name, permissions, member.avatar_url, member.locale), member.time_zone
        )

    async def _make_client(self, identity: Identity, time_zone: str | None) -> AsyncBaton:
        # The token is a function, because a message may wait for longer than a token is valid.
        return self._baton.with_options(token=lambda: make_token(self._make, identity), time_zone=time_zone or "")
