"""A real MCP server in a separate process: ``python -m tests.integration.tools.mcp_server NAME``.

It prints the port it serves on, and serves until it is killed or a tool makes it die.
"""

import asyncio
import itertools
import os
import socket
import sys
from typing import Annotated, Any

import mcp_types as types
import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from tests.integration.tools.mcp_task_server import Tasks


def server(name: str) -> MCPServer:
    """Return a server with a tool for each behaviour that a client must handle."""
    instance = MCPServer(name, extensions=[Tasks()])

    @instance.tool()
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @instance.tool(name="files.search", title="File search", description="Look for files.")
    def search(query: str) -> str:
        return f"{name} found {query}"

    @instance.tool()
    def weather(city: str) -> dict[str, Any]:
        """The weather somewhere."""
        return {"city": city, "degrees": 21.5}

    @instance.tool()
    def mixed() -> types.CallToolResult:
        """Every kind of content."""
        content: list[types.ContentBlock] = [
            types.TextContent(type="text", text="first"),
            types.ImageContent(type="image", data="aGVsbG8=", mime_type="image/png"),
            types.ResourceLink(type="resource_link", uri="https://example.com/report", name="report", title="Report"),
            types.TextContent(type="text", text="last"),
        ]
        return types.CallToolResult(content=content, structured_content={"rows": [1, 2]})

    @instance.tool()
    def refuse(reason: str) -> str:
        """Fail as a tool does."""
        raise ToolError(f"cannot: {reason}")

    @instance.tool()
    async def hang() -> str:
        """Never answer."""
        await asyncio.sleep(3600)
        return "late"

    @instance.tool()
    def later(ending: str) -> str:
        """Work for long, for clients that do not wait."""
        return f"At once: {ending}."

    @instance.tool()
    def die() -> str:
        """End the whole server in the middle of a call."""
        os._exit(1)

    @instance.tool()
    def big(size: int) -> str:
        """A long answer."""
        return "x" * size

    @instance.tool()
    def headers(ctx: Context) -> str:
        """The credentials the server got."""
        return str(dict(ctx.headers or {}).get("authorization"))

    @instance.tool()
    def unlike_its_schema() -> dict[str, Annotated[str, Field(json_schema_extra={"pattern": "^(a+)+$"})]]:
        """Answer what the output schema does not allow, which takes ``re`` long to find out."""
        return {"city": "a" * 18 + "!"}

    numbers = itertools.count(1)

    @instance.tool()
    def next_number() -> int:
        """Count the calls of this tool."""
        return next(numbers)

    @instance.tool()
    def forget() -> str:
        """Make the tool add unknown from now on."""
        instance.remove_tool("add")
        return "forgotten"

    return instance


def main(name: str) -> None:
    subscriber = socket.create_server(("127.0.0.1", 0))
    print(subscriber.getsockname()[1], flush=True)  # noqa: T201 - anybody who started the process reads it
    app = server(name).streamable_http_app()
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[subscriber])


if __name__ == "__main__":
    main(sys.argv[1])
