"""Programs that replace the one that reads documents, and follow its protocol or break it."""

from __future__ import annotations

# The beginning of a program that has received the document.
READY = "import sys; sys.stdin.buffer.read(); print('ready', flush=True)\n"


def make_answering_program(result: object) -> str:
    """Return a program that answers with ``result``: a value, or the text of an expression."""
    expression = result if isinstance(result, str) else repr(result)
    return (
        f"import json, sys\nsys.stdin.buffer.read()\nanswer = json.dumps({expression})\n"
        "print(f'ready\\nresult {len(answer)}\\n{answer}', end='')\n"
    )
