"""The remote agent of these tests in a separate process: ``python -m tests.integration.agents.remote_server``.

It prints the base URL at which it serves, ``working`` when it has begun something that it will never end, and then
``cancelled`` when it was asked to stop.
"""

import threading

from tests.integration.agents.remote_agent import RemoteAgent
from tests.integration.agents.serving import served


def main() -> None:
    agent = RemoteAgent()
    address: list[str] = []
    with served(agent.app(lambda: address[0])) as base:
        address.append(base)
        print(base, flush=True)  # noqa: T201 - anybody who started the process reads it
        agent.working.wait()
        print("working", flush=True)  # noqa: T201
        agent.cancelled.wait()
        print("cancelled", flush=True)  # noqa: T201
        threading.Event().wait()


if __name__ == "__main__":
    main()
