"""``baton login`` and ``baton logout``."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from baton_client.command.configuration import read_profiles, remove_profile, write_profile
from baton_client.command.device_flow import find_endpoints, find_issuer, sign_in
from baton_client.command.exits import CommandError, ExitCode
from baton_client.command.local_sign_in import get_local_tokens
from baton_client.command.session import AsJson, Session, run
from baton_client.command.token_store import TokenStore


def login(
    context: typer.Context,
    issuer: Annotated[
        str | None, typer.Option(help="The issuer of tokens; by default the one that the server names.")
    ] = None,
    client_id: Annotated[str | None, typer.Option(help="This program's id at the issuer.")] = None,
    scopes: Annotated[str | None, typer.Option(help="The scopes to ask for, separated by spaces.")] = None,
    token_file: Annotated[
        bool, typer.Option("--token-file", help="Keep tokens in a file that only you can read, without a keyring.")
    ] = False,
    local: Annotated[bool, typer.Option("--local", help="Get a token for any user from a local cloud.")] = False,
    tenant: Annotated[str, typer.Option(help="With --local: the tenant.")] = "demo",
    user: Annotated[str, typer.Option(help="With --local: the user.")] = "ada",
    permission: Annotated[list[str] | None, typer.Option(help="With --local: a permission; can be repeated.")] = None,
    name: Annotated[str | None, typer.Option(help="With --local: the name that others read.")] = None,
    picture: Annotated[str | None, typer.Option(help="With --local: the https address of a picture.")] = None,
    locale: Annotated[str | None, typer.Option(help="With --local: the language, such as de-AT.")] = None,
    as_json: AsJson = False,
) -> None:
    """Sign in with a code that you enter in a browser on any machine, and store the profile."""

    async def command(session: Session) -> None:
        old = session.profile
        profile = replace(
            old,
            issuer=issuer or old.issuer,
            client_id=client_id or old.client_id,
            scopes=scopes or old.scopes,
            token_file=token_file or old.token_file,
        )
        if local:
            about = {"name": name, "picture": picture, "locale": locale}
            who = {
                "tenant": tenant,
                "user": user,
                "permissions": permission or [],
                **{claim: value for claim, value in about.items() if value is not None},
            }
            tokens = await get_local_tokens(session.http, profile.url, who)
        else:
            if not profile.client_id:
                raise CommandError(
                    "Name this program's id at the issuer by --client-id; your administrator knows it. "
                    "At a local cloud, sign in by `baton login --local`.",
                    ExitCode.USAGE,
                )
            addresses = await find_endpoints(
                session.http, profile.issuer or await find_issuer(session.http, profile.url)
            )

            def show(address: str, code: str) -> None:
                session.output.note(f"Open {address} and enter the code {code}.")

            tokens = await sign_in(
                session.http, addresses, client_id=profile.client_id, scopes=profile.scopes, show=show
            )
        TokenStore(profile, session.environment.folder).write(tokens)
        write_profile(session.environment.folder, profile)
        answer = {"profile": profile.name, "url": profile.url, "signedIn": True}
        session.output.print_value(answer, [f"Signed in to {profile.url} (profile {profile.name})."])

    run(context, command, as_json=as_json)


def logout(
    context: typer.Context,
    forget: Annotated[bool, typer.Option("--forget", help="Remove the profile's address and issuer, too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove the stored tokens of the profile."""

    async def command(session: Session) -> None:
        folder, profile = session.environment.folder, session.profile
        had = TokenStore(profile, folder).delete()
        answer = {"profile": profile.name, "url": profile.url, "signedIn": False}
        session.output.print_value(answer, ["Signed out." if had else "You were not signed in."])
        if forget:
            remove_profile(folder, profile.name)
            session.output.note(f"The address and the issuer of the profile {profile.name} are removed.")
        elif stored := read_profiles(folder).get(profile.name):
            session.output.note(f"Commands still go to {stored.url}. `baton logout --forget` ends that.")
        if session.sign_in.is_variable:
            session.output.note("BATON_TOKEN is still set.")

    run(context, command, as_json=as_json)
