"""``baton agents``: who can be talked to, and who works behind them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from baton_client.addresses import path
from baton_client.command import agent_versions
from baton_client.command.connection import Json
from baton_client.command.session import AsJson, Session, run
from baton_client.command.terminal_text import one_line

app = typer.Typer(no_args_is_help=True, help="List agents, show one, and manage the versions of a tenant's agents.")

COLUMNS = [
    ("ID", lambda item: item["id"]),
    ("NAME", lambda item: one_line(item.get("name"), 30)),
    ("BEGINS", lambda item: "yes" if item.get("main") else "no"),
    ("FROM", lambda item: _describe_origin(item)),
    ("DESCRIPTION", lambda item: one_line(item.get("description"), 80)),
]


@app.command("list")
def list_(context: typer.Context, as_json: AsJson = False) -> None:
    """List the agents that you may use. Conversations begin with those that have "yes" below BEGINS."""

    async def command(session: Session) -> None:
        await show_agents(session)

    run(context, command, as_json=as_json)


@app.command()
def show(
    context: typer.Context,
    agent_id: Annotated[str, typer.Argument(help="The agent's id.")],
    definition: Annotated[
        bool, typer.Option("--yaml", help="Print its definition as YAML, as in a file; needs agent:write.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show an agent."""

    async def command(session: Session) -> None:
        address = path("/v1/agents/{agent_id}", agent_id=agent_id)
        if definition:
            text = await session.connection.read_text(address, accept="application/yaml")
            session.output.print_value({"id": agent_id, "yaml": text}, [text.rstrip("\n")])
            return
        agent = await session.connection.get(address)
        session.output.print_value(agent, _format_lines(agent))

    run(context, command, as_json=as_json)


app.command("versions")(agent_versions.versions)
app.command("share")(agent_versions.share)
app.command("promote")(agent_versions.promote)
app.command("rollback")(agent_versions.roll_back)


async def show_agents(session: Session) -> None:
    """Print the agents that the user may use, those that conversations begin with first."""
    agents = await session.connection.list_items("/v1/agents")
    agents.sort(key=lambda agent: not agent.get("main"))
    session.output.print_rows(agents, COLUMNS, empty="There are no agents that you may use.")


def _format_lines(agent: Json) -> list[str]:
    begins = "Conversations begin with it." if agent.get("main") else "No conversation begins with it."
    return [
        f"{one_line(agent.get('name'))} ({agent['id']}, {_describe_origin(agent)})",
        one_line(agent.get("description")),
        begins,
        *_describe_code(agent.get("functions") or []),
    ]


def _describe_code(functions: list[str]) -> list[str]:
    """Return lines about an agent in Python. Callers who may not change agents do not get its functions."""
    if not functions:
        return []
    answers = ["Its code answers, and not its model: run."] if "run" in functions else []
    others = [one_line(function) for function in functions if function != "run"]
    return [*answers, *([f"Its functions: {', '.join(others)}."] if others else [])]


def _describe_origin(agent: Any) -> str:
    version = agent.get("version")
    return "the deployment" if version is None else f"the tenant, version {version}"
