"""``make run`` and ``baton dev``: start the local cloud and print its address."""

import logging
import os
import signal
import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from baton_local.errors import LocalCloudError

if TYPE_CHECKING:
    from baton_local.cloud import LocalCloud

ONE_CTRL_C_SECONDS = 1.0
"""Seconds within which a second SIGINT counts as the first Ctrl-C, because ``uv run`` passes it on."""


def main(**settings: Any) -> int:
    """Run until Ctrl-C or SIGTERM, and return 0; return 1 after an error, which is printed.

    A second Ctrl-C, after ``ONE_CTRL_C_SECONDS``, ends the process at once. ``settings`` are fields of
    ``LocalSettings``.
    """
    _log_to_terminal()
    requests: list[float] = []  # the monotonic times at which an end was requested
    running = False

    def stop(*_: object) -> None:
        requests.append(time.monotonic())
        if len(requests) == 1:
            raise KeyboardInterrupt
        if requests[-1] - requests[0] > ONE_CTRL_C_SECONDS:
            os._exit(130)  # a second request; the engines end with this process

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    # The local cloud sets this only while it runs, but calls that its stop interrupts end later.
    os.environ["POWERTOOLS_METRICS_DISABLED"] = "true"
    try:
        from baton_local.cloud import LocalCloud  # this takes a second; Ctrl-C is handled from here on
        from baton_local.startup_model_checks import print_model_checks

        cloud = LocalCloud(progress=_say, **settings)
        try:
            cloud.start()
            _say(_format_welcome(cloud))
            running = True
            with print_model_checks(cloud, _say):
                cloud.wait()
        except KeyboardInterrupt:
            logging.disable(logging.CRITICAL)  # interrupted calls fail now, and need no log
            _say("\nStopping ...")
        finally:
            cloud.stop()
    except LocalCloudError as problem:
        print(f"Baton {'stops' if running else 'cannot start'}. {problem}", file=sys.stderr, flush=True)
        return 1
    except KeyboardInterrupt:
        pass
    _say("Stopped.")
    return 0


def _log_to_terminal() -> None:
    """Write log lines of this process for people, unless ``BATON_LOCAL_LOGS`` is set."""
    os.environ.setdefault("BATON_LOCAL_LOGS", "text")
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    # Powertools detaches loggers from the root's handlers if their names contain its service name, "baton".
    local_logger = logging.getLogger("baton_local")
    local_logger.addHandler(logging.StreamHandler())
    local_logger.handlers[-1].setFormatter(logging.root.handlers[0].formatter)
    local_logger.propagate = False


def _format_welcome(cloud: "LocalCloud") -> str:
    """Return the addresses, the model and the storage of a running cloud, a line for each."""
    settings = cloud.settings
    storage = f"kept in {settings.data_dir}" if settings.data_dir else "in memory; BATON_DATA_DIR=folder keeps it"
    return "\n".join(
        [
            "",
            f"Baton is running at {cloud.url}  (Ctrl-C stops it)",
            f"  Page       {_describe_page(cloud, '/')}",
            f"  Console    {_describe_page(cloud, '/monitor/')}",
            f"  WebSocket  {cloud.socket_url}",
            f"  Terminal   baton --url {cloud.url} login --local --user ada --token-file, then: baton chat",
            f'  Token      curl -X POST {cloud.url}/local/token -d \'{{"tenant": "demo", "user": "ada"}}\'',
            f"  Model      {_describe_model(cloud)}",
            f"  Search     {_describe_search(cloud.environment)}",
            f"  Data       {storage}",
        ]
    )


def _describe_search(environment: Mapping[str, str]) -> str:
    embedded = "embedded, in a bucket" if environment.get("BATON_SEARCH_BUCKET") else "off"
    return environment["BATON_SEARCH_URL"] or embedded


def _describe_model(cloud: "LocalCloud") -> str:
    """Return the chat model and its address, or what is missing if the demo model answers in another one's place."""
    from baton_local.environment import DEMO_MODEL

    name, endpoint = cloud.environment["BATON_CHAT_MODEL"], cloud.find_model_endpoint()
    if endpoint.startswith(f"{cloud.url}/local/") and name != DEMO_MODEL:
        return f"the demo model: for {name}, set OPENAI_API_KEY, or OPENAI_BASE_URL if it needs no key"
    return f"{name} at {endpoint}"


def _describe_page(cloud: "LocalCloud", path: str) -> str:
    from baton_local import web

    return f"{cloud.url}{path}" if web.is_built() else "not built: run `make web`"


def _say(text: str) -> None:
    print(text, flush=True)


def leave(code: int) -> NoReturn:
    """End this process at once, because a thread may still be inside a call. Stop the engines before."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    leave(main())
