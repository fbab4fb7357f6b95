"""The configuration file's profiles: a server, and how people sign in there."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

import platformdirs

from baton_client.command.exits import CommandError, ExitCode
from baton_client.options import check_url

DEFAULT_URL = "http://127.0.0.1:8080"
DEFAULT_PROFILE = "default"
DEFAULT_SCOPES = "openid offline_access"
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
"""Hosts of this machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One server, under a name."""

    name: str = DEFAULT_PROFILE
    url: str = DEFAULT_URL
    issuer: str | None = None
    """The issuer of tokens; ``None`` asks the server."""
    client_id: str | None = None
    """The id of this program at the issuer."""
    scopes: str = DEFAULT_SCOPES
    token_file: bool = False
    """Whether tokens are in a file, because there is no keyring."""

    @property
    def sign_in_command(self) -> str:
        """The command that signs in at this server. A server on this machine is a local cloud."""
        return "baton login --local" if urlsplit(self.url).hostname in LOOPBACK else "baton login"


def find_configuration_folder() -> Path:
    """Return the folder of the configuration, by the conventions of the system."""
    return Path(platformdirs.user_config_dir("baton"))


def read_profile(folder: Path, variables: Mapping[str, str], *, name: str | None, url: str | None) -> Profile:
    """Return the profile in use: options come before environment variables, these before ``config.toml``.

    Raises ``CommandError`` if the file is wrong, or has no profile of that name, and ``ConfigurationError`` for an
    address that is no HTTP address.
    """
    profile_name = name or variables.get("BATON_PROFILE") or DEFAULT_PROFILE
    profiles = read_profiles(folder)
    if profile_name not in profiles and profile_name != DEFAULT_PROFILE and not (url or variables.get("BATON_URL")):
        raise CommandError(
            f"There is no profile {profile_name!r} in {folder / 'config.toml'}. Make it by "
            f"`baton --profile {profile_name} --url ADDRESS login`.",
            ExitCode.USAGE,
        )
    profile = profiles.get(profile_name, Profile(name=profile_name))
    return replace(profile, url=check_url(url or variables.get("BATON_URL") or profile.url))


def read_profiles(folder: Path) -> dict[str, Profile]:
    """Return the profiles of ``config.toml`` by name. Raises ``CommandError``, which names the problem."""
    path = folder / "config.toml"
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
        return {name: Profile(name=name, **fields) for name, fields in tables.get("profiles", {}).items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError) as problem:
        raise CommandError(f"{path} cannot be read: {problem}. Correct it, or remove it.", ExitCode.USAGE) from problem


def write_profile(folder: Path, profile: Profile) -> None:
    """Store a profile in ``config.toml``, beside the others."""
    _write_profiles(folder, {**read_profiles(folder), profile.name: profile})


def remove_profile(folder: Path, name: str) -> None:
    """Remove a profile from ``config.toml``, if the file has it."""
    profiles = read_profiles(folder)
    if profiles.pop(name, None):
        _write_profiles(folder, profiles)


def _write_profiles(folder: Path, profiles: Mapping[str, Profile]) -> None:
    lines = []
    for other in profiles.values():
        lines.append(f"[profiles.{json.dumps(other.name)}]")
        fields = {"url": other.url, "issuer": other.issuer, "client_id": other.client_id, "scopes": other.scopes}
        # A JSON string is a TOML string, too.
        lines += [f"{name} = {json.dumps(value)}" for name, value in fields.items() if value is not None]
        lines += [f"token_file = {str(other.token_file).lower()}", ""]
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / "config.toml"
    draft = folder / "config.toml.new"
    draft.write_text("\n".join(lines))
    draft.replace(target)
