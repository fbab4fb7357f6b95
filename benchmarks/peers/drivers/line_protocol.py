"""The protocol of drivers: a JSON command a line on standard input, a JSON report a line on standard output.

A driver needs only the standard library and its own project, because it runs in that project's environment.
"""

import asyncio
import json
import sys
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable

Ask = Callable[[str, str, str], AsyncIterator[str]]
"""Answer a text in a session, in pieces. The arguments are the session's id, the message's id, and the text."""
History = Callable[[str], Awaitable[list[tuple[str, str]]]]
"""Return role and text of each stored message of a session, read again from the storage."""


def read_text(content: str | list[dict[str, str]]) -> str:
    """Return the text of a message's content in OpenAI's form: a text, or a list of parts with texts."""
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def serve(ask: Ask, read_history: History) -> None:
    """Carry out commands until the standard input ends."""
    reports, sys.stdout = sys.stdout, sys.stderr  # a library may print

    def report(**fields: object) -> None:
        print(json.dumps(fields), file=reports, flush=True)

    async def answer(session: str, message: str, text: str) -> None:
        began, first, pieces = time.perf_counter(), 0.0, []
        async for piece in ask(session, message, text):
            if piece and not pieces:
                first = time.perf_counter() - began
                report(event="first")
            pieces.append(piece)
        report(event="end", first=first, whole=time.perf_counter() - began, text="".join(pieces))

    async def run() -> None:
        report(event="end")
        while line := await asyncio.to_thread(sys.stdin.readline):
            command = json.loads(line)
            try:
                if command["do"] == "ask":
                    await answer(command["session"], command["message"], command["text"])
                else:
                    report(event="end", messages=await read_history(command["session"]))
            except Exception as problem:  # noqa: BLE001 - the benchmark reports what a library raises
                traceback.print_exc()
                report(event="end", error=f"{type(problem).__name__}: {problem}")

    asyncio.run(run())
