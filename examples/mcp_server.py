"""A small MCP server to try tools with: a search over a few pages about agents in Python, and a help desk.

    python examples/mcp_server.py [--port 8765]

It speaks streamable HTTP at http://127.0.0.1:8765/mcp, by the official SDK, and serves until it is interrupted.
"""

from __future__ import annotations

import argparse
import json
import re
import zlib

from mcp.server.mcpserver import MCPServer

PAGES = {
    "Handling errors": (
        "Define one base exception for your agent and derive others from it. Catch errors at the border of a tool, log "
        "the details, and tell the model in a sentence what went wrong and whether to try again."
    ),
    "Retries": (
        "Repeat a call only if it is safe to repeat: reads, and writes with an idempotency key. Wait longer after each "
        "attempt, add some randomness, and give up after a few attempts or when the time of the turn is over."
    ),
    "Timeouts": (
        "Every call that leaves the process needs a timeout: the model, tools, other agents. Choose it from what the "
        "user is ready to wait, and keep enough of the turn for an answer that says what is missing."
    ),
    "Rate limiting": (
        "Limit requests for each user and tokens for each tenant. A token bucket allows bursts and keeps the average. "
        "Refuse with status 429 and a Retry-After header, and let clients wait for as long as it says."
    ),
    "Testing": (
        "Script the model and keep everything else real. Test what the agent does, not how it puts it: which tools it "
        "calls, with which arguments, and what it does when one of them fails."
    ),
    "Logging": (
        "Write one line of JSON for each event, with the ids of conversation, run and call. Leave prompts, answers and "
        "secrets out of the log."
    ),
}

server = MCPServer("python-agent-docs")


@server.tool()
def search_docs(query: str) -> str:
    """Search the documentation about agents in Python. Returns the pages that fit best, with their titles."""
    words = _find_words(query)
    scores = {
        title: 3 * len(words & _find_words(title)) + len(words & _find_words(text)) for title, text in PAGES.items()
    }
    titles = sorted((title for title in PAGES if scores[title]), key=lambda title: -scores[title])[:2]
    if not titles:
        return f"No page is about that. There are pages about: {', '.join(PAGES)}."
    return "\n\n".join(f"# {title}\n{PAGES[title]}" for title in titles)


@server.tool()
def read_page(title: str) -> str:
    """Read one page of the documentation by its title."""
    for name, text in PAGES.items():
        if name.lower() == title.strip().lower():
            return f"# {name}\n{text}"
    return f"There is no page of that title. Titles: {', '.join(PAGES)}."


@server.tool()
def find_customer(name: str) -> str:
    """Find a customer by name. Returns the customer's id and plan as JSON."""
    return json.dumps({"id": f"C-{_derive_number(name)}", "name": name, "plan": "business"})


@server.tool()
def open_ticket(customer_id: str, subject: str) -> str:
    """Open a ticket for a customer. Returns its number as JSON."""
    return json.dumps({"ticket": f"T-{_derive_number(customer_id + subject)}", "status": "open"})


@server.tool()
def post_message(channel: str, text: str) -> str:
    """Post a message to a channel of the team's chat."""
    return json.dumps({"posted": True, "channel": channel})


def _derive_number(text: str) -> int:
    """Return a number of four digits that is the same for the same text."""
    return 1_000 + zlib.crc32(text.encode()) % 9_000


def _find_words(text: str) -> set[str]:
    """Return the words of at least four letters, without endings that vary, and without some that fit every page."""
    words = re.findall(r"[a-z]{4,}", text.lower())
    return {re.sub(r"(ies|ing|ed|es|s|y)$", "", word) for word in words} - {"agent", "python", "with", "about"}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A search over a few pages and a help desk, over MCP.")
    parser.add_argument("--port", type=int, default=8765)
    server.run("streamable-http", port=parser.parse_args().port)
