"""Ask several agents at once, watch the answer come together, and read what each of them said.

    pip install baton-client
    python research.py "What are the best practices for error handling in Python agents?"

The main agent gives the question to its sub-agents in parallel and answers in one voice. ``BATON_URL`` and
``BATON_TOKEN`` say where and as whom; without a token it is a user of a local server (``make run`` or ``baton dev``).
"""

import os
import sys

import httpx

from baton_client import Baton
from baton_client.events import SubagentErrorEvent, SubagentFinishedEvent, SubagentStartedEvent, TextMessageContentEvent

URL = os.environ.get("BATON_URL", "http://127.0.0.1:8080")
QUESTION = "What are the best practices for error handling in Python agents?"


def fetch_local_token() -> str:
    """Return a token of a local server, which gives tokens to everybody. Raises ``httpx.HTTPError``."""
    answer = httpx.post(f"{URL}/local/token", json={"tenant": "demo", "user": "researcher"})
    token: str = answer.raise_for_status().json()["token"]
    return token


def main(question: str) -> None:
    """Print the answer as it comes, its sources, and each sub-task with its result."""
    names: dict[str, str] = {}
    with Baton(URL, token=os.environ.get("BATON_TOKEN") or fetch_local_token) as baton:
        with baton.runs.stream(question) as stream:
            for event in stream:
                match event:
                    case SubagentStartedEvent():
                        names[event.subagent_run_id] = event.name
                        print(f"[{event.name} is at work]", flush=True)
                    case SubagentFinishedEvent():
                        print(f"[{names[event.subagent_run_id]} has answered]", flush=True)
                    case SubagentErrorEvent():
                        print(f"[{names[event.subagent_run_id]} failed: {event.message}]", flush=True)
                    case TextMessageContentEvent():
                        print(event.delta, end="", flush=True)
            result = stream.result()

        print("\n\nSources:", ", ".join(dict.fromkeys(source.title or source.id for source in result.sources)))
        for sub_task in result.tasks:
            task = baton.threads.tasks.get(result.thread_id, sub_task.task_id)
            tokens = task.usage.total_tokens
            print(f"\n{sub_task.agent_name} ({task.status}, {task.duration_ms} ms, {tokens} tokens):\n{task.result}")


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]) or QUESTION)
