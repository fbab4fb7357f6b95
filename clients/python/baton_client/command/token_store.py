"""Stores of tokens: the system's keyring, or a file that only its owner reads."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from baton_client.command.configuration import Profile
from baton_client.command.exits import CommandError, ExitCode

SERVICE = "baton"


@dataclass(frozen=True, slots=True)
class StoredTokens:
    """The tokens of a sign-in."""

    access_token: str
    expires_at: float
    """Seconds since 1970."""
    refresh_token: str | None = None
    token_endpoint: str | None = None
    client_id: str | None = None
    url: str | None = None
    """The server that the tokens are for."""
    local: dict[str, Any] | None = None
    """The tenant, user and permissions of a sign-in at a local cloud, which signs another token for them."""


@dataclass(frozen=True, slots=True)
class TokenStore:
    """The tokens of one profile."""

    profile: Profile
    folder: Path

    def read(self) -> StoredTokens | None:
        """Return the tokens; ``None`` if there are none for the profile's server, or if they are not valid.

        Raises ``CommandError`` if the store cannot be read.
        """
        text = self._read_file() if self.profile.token_file else self._read_keyring()
        if not text:
            return None
        try:
            tokens = StoredTokens(**json.loads(text))
        except (ValueError, TypeError):
            return None
        # No server gets the token of another one, whatever address a variable or a project names.
        return tokens if tokens.url in {None, self.profile.url} else None

    def write(self, tokens: StoredTokens) -> None:
        """Store tokens. Raises ``CommandError`` without a keyring."""
        text = json.dumps(asdict(replace(tokens, url=self.profile.url)))
        if not self.profile.token_file:
            _call_keyring("set_password", SERVICE, self._account, text)
            return
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = self._file.with_suffix(".new")
        draft.unlink(missing_ok=True)
        # Nobody else can read the file at any moment, whatever the umask is.
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        draft.replace(self._file)

    def delete(self) -> bool:
        """Remove the tokens. Return whether there were any."""
        if self.profile.token_file:
            # The file is not read, because a sign-out also removes a file that others can read.
            had = self._file.exists()
            self._file.unlink(missing_ok=True)
            return had
        had = self._read_keyring() is not None  # whatever it holds
        if had:
            _call_keyring("delete_password", SERVICE, self._account)
        return had

    @property
    def _account(self) -> str:
        return f"{self.profile.name} {self.profile.url}"

    @property
    def _file(self) -> Path:
        return self.folder / f"tokens-{self.profile.name.replace('/', '_')}.json"

    def _read_keyring(self) -> str | None:
        token: str | None = _call_keyring("get_password", SERVICE, self._account)
        return token

    def _read_file(self) -> str | None:
        try:
            if os.name == "posix" and self._file.stat().st_mode & 0o077:
                raise CommandError(
                    f"Others can read {self._file}. Run `chmod 600` on it, or `baton logout`.", ExitCode.USAGE
                )
            return self._file.read_text()
        except FileNotFoundError:
            return None


def find_keyring_name() -> str | None:
    """Return the name of the keyring in use; ``None`` if there is none."""
    import keyring

    backend = keyring.get_keyring()
    name = f"{type(backend).__module__}.{type(backend).__name__}"
    return None if getattr(backend, "priority", 1) <= 0 or ".fail." in name else name


def _call_keyring(function: str, *arguments: str) -> Any:
    # Commands with a token from a variable or a file need no keyring, which takes long to find its backend.
    import keyring.errors

    try:
        return getattr(keyring, function)(*arguments)
    except keyring.errors.KeyringError as problem:
        raise CommandError(
            "There is no keyring that can be used. Set BATON_TOKEN, or sign in with `--token-file` as well, which "
            "keeps tokens in a file that only you can read.",
            ExitCode.FORBIDDEN,
        ) from problem
