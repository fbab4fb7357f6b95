"""``make run``: start the local cloud and say where it is."""

import logging
import os
import signal
import sys
import threading

from local.cloud import LocalCloud
from local.errors import LocalCloudError


def main() -> int:
    """Run until Ctrl-C or SIGTERM; return the exit code."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    stopping = threading.Event()

    def stop(*_: object) -> None:
        if stopping.is_set():
            os._exit(130)  # asked twice; the engines end with us
        stopping.set()
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    try:
        cloud = LocalCloud(progress=_say)
        try:
            cloud.start()
            _say(_welcome(cloud))
            threading.Event().wait()
        except KeyboardInterrupt:
            _say("\nStopping ...")
        finally:
            cloud.stop()
    except LocalCloudError as problem:
        print(f"Baton cannot start. {problem}", file=sys.stderr, flush=True)
        return 1
    except KeyboardInterrupt:
        pass
    _say("Stopped.")
    return 0


def _welcome(cloud: LocalCloud) -> str:
    settings = cloud.settings
    kept = f"kept in {settings.data_dir}" if settings.data_dir else "in memory; BATON_DATA_DIR=folder keeps it"
    return "\n".join(
        [
            "",
            f"Baton is running at {cloud.url}  (Ctrl-C stops it)",
            f"  WebSocket  {cloud.socket_url}",
            f'  Token      curl -X POST {cloud.url}/local/token -d \'{{"tenant": "demo", "user": "me"}}\'',
            f"  Model      {cloud.environment['BATON_CHAT_MODEL']} at {cloud.environment['OPENAI_BASE_URL']}",
            f"  Data       {kept}",
        ]
    )


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # a handler may still be inside a call; the engines are down already
