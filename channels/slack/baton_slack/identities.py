"""People and users of Slack as Baton knows them: ids, names, permissions and tokens."""

from __future__ import annotations

import inspect
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

import jwt

LIFETIME_SECONDS = 600
SERVICE = "slack-channel"
"""The user id with which the channel itself reads conversations at desks. Nobody in Slack has it."""


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a Slack workspace."""

    id: str
    team: str
    name: str
    email: str | None = None
    """The address of the profile, if its owner has confirmed it. Slack lets people enter any unconfirmed address."""
    avatar_url: str | None = None
    time_zone: str | None = None
    locale: str | None = None
    is_full: bool = True
    """Whether the member is a person of this workspace: no bot, guest, deleted member or outsider."""

    @classmethod
    def of(cls, user: dict[str, Any], team: str) -> Member:
        """Return the member that ``users.info`` describes, as the workspace ``team`` sees it."""
        profile = user.get("profile") or {}
        flags = ("is_bot", "deleted", "is_restricted", "is_ultra_restricted", "is_stranger", "is_workflow_bot")
        own_team = user.get("team_id") or team
        email = profile.get("email") if user.get("is_email_confirmed") is True else None
        name = profile.get("display_name") or profile.get("real_name") or user.get("real_name") or user["id"]
        return cls(
            id=user["id"],
            team=own_team,
            name="".join(letter for letter in name if letter.isprintable())[:80] or user["id"],
            email=(email or "").strip().lower() or None,
            avatar_url=profile.get("image_72"),
            time_zone=user.get("tz"),
            locale=user.get("locale"),
            is_full=own_team == team and user["id"] != "USLACKBOT" and not any(user.get(flag) for flag in flags),
        )


@dataclass(frozen=True, slots=True)
class Identity:
    """Somebody who acts in Baton."""

    user_id: str
    name: str
    permissions: tuple[str, ...] = ()
    picture: str | None = None
    locale: str | None = None


TokenMaker = Callable[[Identity], str | Awaitable[str]]
"""A function that returns a token of Baton for an identity. A host with its own issuer passes its own function."""


def make_user_id(member: Member, identify: Literal["slack", "email"]) -> str | None:
    """Return the member's user id in Baton; None if it is the e-mail address and that is not confirmed."""
    return f"slack-{member.team}-{member.id}" if identify == "slack" else member.email


@dataclass(frozen=True, slots=True)
class EmbedKey:
    """A maker of tokens that signs with an embed key."""

    tenant: str
    key_id: str
    key: str
    algorithm: str = "HS256"

    def __repr__(self) -> str:
        return f"EmbedKey(tenant={self.tenant!r}, key_id={self.key_id!r})"

    def __call__(self, identity: Identity) -> str:
        """Return a token that is valid for ten minutes."""
        now = int(time.time())
        claims: dict[str, Any] = {
            "iss": "baton-embed",
            "sub": identity.user_id,
            "tenant": self.tenant,
            "permissions": list(identity.permissions),
            "name": identity.name,
            "iat": now,
            "exp": now + LIFETIME_SECONDS,
        }
        if identity.picture:
            claims["picture"] = identity.picture
        if identity.locale:
            claims["locale"] = identity.locale
        return jwt.encode(claims, self.key, algorithm=self.algorithm, headers={"kid": self.key_id})


async def make_token(maker: TokenMaker, identity: Identity) -> str:
    """Return a token for ``identity``. The maker may be synchronous or asynchronous."""
    token = maker(identity)
    return await token if inspect.isawaitable(token) else token
