"""The common part of both clients' programs: commands on standard input, and their results on standard output.

It imports nothing of the project, because one of the programs runs in another environment.
"""

import asyncio
import json
import sys


class Program:
    """A program that reads commands, one a line, and carries them out at the same time.

    A subclass talks by its SDK.
    """

    async def run(self) -> None:
        """Serve until standard input is closed."""
        lines = asyncio.Queue()
        asyncio.get_running_loop().run_in_executor(None, self._read, lines, asyncio.get_running_loop())
        working = set()
        while (line := await lines.get()) is not None:
            task = asyncio.ensure_future(self._carry_out(json.loads(line)))
            working.add(task)
            task.add_done_callback(working.discard)

    def _read(self, lines: asyncio.Queue, loop: asyncio.AbstractEventLoop) -> None:
        for line in sys.stdin:
            loop.call_soon_threadsafe(lines.put_nowait, line)
        loop.call_soon_threadsafe(lines.put_nowait, None)

    async def _carry_out(self, command: dict) -> None:
        number = command.pop("number")
        try:
            async for event in self.events(**command):
                self._print(number=number, event=event)
            self._print(number=number, done=True)
        except Exception as error:  # noqa: BLE001 - whatever it is, the test is told
            self._print(number=number, error=f"{type(error).__name__}: {error}")

    def _print(self, **fields: object) -> None:
        sys.stdout.write(json.dumps(fields) + "\n")
        sys.stdout.flush()

    async def events(self, **command: object):
        """Carry out one command; what the client hears."""
        raise NotImplementedError
        yield
