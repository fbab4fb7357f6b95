"""One run of a command: its options, its connection, and how it ends."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import httpx
import typer

from baton_client.asynchronous.tokens import AsyncTokens
from baton_client.asynchronous.transport import AsyncTransport
from baton_client.command.configuration import LOOPBACK, Profile, find_configuration_folder, read_profile
from baton_client.command.connection import Connection
from baton_client.command.device_flow import renew_tokens
from baton_client.command.exits import CommandError, ExitCode, describe_problem, find_exit_code
from baton_client.command.local_sign_in import renew_local_tokens
from baton_client.command.output import Output
from baton_client.command.project_variables import read_own_variables
from baton_client.command.token_store import TokenStore
from baton_client.errors import APIConnectionError, BatonError
from baton_client.options import Options, make_timeout

TIMEOUT_SECONDS = 30.0
MAX_RETRIES = 2
RESUME_SECONDS = 30.0
"""Seconds for which a lost stream is resumed, while a user waits for it."""
EARLY_SECONDS = 60
"""Seconds before its end at which a token is renewed."""

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The environment of the command."""

    variables: Mapping[str, str] = field(default_factory=lambda: os.environ)
    folder: Path = field(default_factory=find_configuration_folder)
    """The folder of the configuration."""
    transport: httpx.AsyncBaseTransport | None = None
    """The transport that replaces the network."""
    profile_name: str | None = None
    url: str | None = None
    no_color: bool = False

    @classmethod
    def of_process(cls, *, url: str | None = None) -> Environment:
        """Return the environment of this process, with defaults from the project around the current folder."""
        try:
            own = read_own_variables(Path.cwd())
        except (CommandError, OSError):
            own = {}  # the project's own commands report it
        # A token of the shell must not be sent to another machine that a folder names.
        if "BATON_TOKEN" in os.environ and "BATON_URL" in own and httpx.URL(own["BATON_URL"]).host not in LOOPBACK:
            del own["BATON_URL"]
        return cls(variables={**own, **os.environ}, url=url)

    def read_profile(self) -> Profile:
        """Return the profile in use. Raises ``CommandError``."""
        return read_profile(self.folder, self.variables, name=self.profile_name, url=self.url)

    def make_http_client(self) -> httpx.AsyncClient:
        """Return a client without a token."""
        return httpx.AsyncClient(transport=self.transport, timeout=make_timeout(TIMEOUT_SECONDS))


class SignIn:
    """The token of requests, from the environment variable or from a stored sign-in."""

    def __init__(self, environment: Environment, profile: Profile, http: httpx.AsyncClient) -> None:
        self._token = environment.variables.get("BATON_TOKEN")
        self._profile = profile
        self._store = TokenStore(profile, environment.folder)
        self._http = http
        self._given: str | None = None

    @property
    def is_variable(self) -> bool:
        """Whether the token is from ``BATON_TOKEN``."""
        return bool(self._token)

    async def get_token(self) -> str:
        """Return a token. Each further call returns another one, except for ``BATON_TOKEN``.

        Raises ``CommandError`` if the user has to sign in.
        """
        if self._token:
            return self._token
        stored = self._store.read()
        if stored is None:
            command = self._profile.sign_in_command
            raise CommandError(f"You are not signed in. Run `{command}`, or set BATON_TOKEN.", ExitCode.FORBIDDEN)
        is_local = stored.local is not None
        # Another project's local cloud may be at the address by now. It would refuse the token, and log that.
        is_unknown = is_local and self._given is None
        if is_unknown or self._given == stored.access_token or stored.expires_at < time.time() + EARLY_SECONDS:
            stored = await (
                renew_local_tokens(self._http, self._profile.url, stored)
                if is_local
                else renew_tokens(self._http, stored)
            )
            self._store.write(stored)
        self._given = stored.access_token
        return stored.access_token


@dataclass(frozen=True, slots=True)
class Session:
    """The objects that a command works with."""

    environment: Environment
    profile: Profile
    output: Output
    connection: Connection
    http: httpx.AsyncClient
    """A client that sends no token: for uploads, and issuers of tokens."""
    sign_in: SignIn

    def confirm(self, question: str, *, is_agreed: bool) -> None:
        """Ask before something that cannot be undone. Raises ``CommandError`` unless the user agrees."""
        if is_agreed:
            return
        self._check_terminal(question, "--yes")
        if not typer.confirm(question, err=True):
            raise CommandError("Nothing was changed.")

    def ask(self, question: str, *, option: str) -> str:
        """Return what the user types. Raises ``CommandError``, which names ``option``, if nobody can be asked."""
        self._check_terminal(question, option)
        return str(typer.prompt(question, err=True))

    def _check_terminal(self, question: str, option: str) -> None:
        if self.output.is_json or not self.output.console.is_terminal:
            punctuation = "" if question.endswith(("?", ".")) else "."
            raise CommandError(f"{question}{punctuation} Say so by {option}: nobody can be asked here.", ExitCode.USAGE)


def get_environment(context: typer.Context) -> Environment:
    """Return the environment, with the options before the command's name."""
    return context.obj if isinstance(context.obj, Environment) else Environment.of_process()


def _find_address(problem: httpx.HTTPError) -> str:
    """Return the address that did not answer."""
    try:
        url = problem.request.url
    except RuntimeError:  # it has not come to a request
        return "The connection failed"
    return f"{url.scheme}://{url.netloc.decode()}"


def run(context: typer.Context, command: Callable[[Session], Awaitable[None]], *, as_json: bool = False) -> None:
    """Run a command with a session. Errors become one line on standard error and an exit code."""
    environment = get_environment(context)
    output = Output(as_json)
    if environment.no_color or "NO_COLOR" in environment.variables:
        output.console.no_color = output.messages.no_color = True
    try:
        asyncio.run(_run(environment, output, command))
    except KeyboardInterrupt:
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    except (CommandError, BatonError) as problem:
        output.print_error(describe_problem(problem))
        raise typer.Exit(find_exit_code(problem)) from None
    except httpx.HTTPError as problem:
        reason = f"{_find_address(problem)}: {str(problem) or type(problem).__name__}".rstrip(".")
        unreachable = APIConnectionError(f"{reason}.")
        output.print_error(describe_problem(unreachable))
        raise typer.Exit(find_exit_code(unreachable)) from None
    except BrokenPipeError:
        raise
    except OSError as problem:
        output.print_error(f"{problem.filename or 'A file'}: {problem.strerror or problem}.")
        raise typer.Exit(ExitCode.FAILED) from None


async def _run(environment: Environment, output: Output, command: Callable[[Session], Awaitable[None]]) -> None:
    async with open_session(environment, output) as session:
        await command(session)


@asynccontextmanager
async def open_session(environment: Environment, output: Output) -> AsyncIterator[Session]:
    """Yield a session. Raises ``CommandError`` for a wrong configuration."""
    profile = environment.read_profile()
    async with environment.make_http_client() as http:
        sign_in = SignIn(environment, profile, http)
        # A variable's token cannot be renewed: asking again would only repeat the request.
        source = environment.variables["BATON_TOKEN"] if sign_in.is_variable else sign_in.get_token
        options = Options(
            base_url=profile.url,
            timeout=make_timeout(TIMEOUT_SECONDS),
            max_retries=MAX_RETRIES,
            resume_seconds=RESUME_SECONDS,
        )
        transport = AsyncTransport(http, AsyncTokens(source), options)
        yield Session(environment, profile, output, Connection(transport), http, sign_in)


def with_options(environment: Environment, *, profile: str | None, url: str | None, no_color: bool) -> Environment:
    """Return the environment with the options that were given before the command's name."""
    return replace(environment, profile_name=profile, url=url, no_color=no_color)
