"""The process of a moto server: ``python -m local.engines.moto_process PORT [FOLDER]``."""

import logging
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server

from local.engines.kept_objects import KeptObjects

Wsgi = Callable[..., Iterable[bytes]]


def keeping(app: Wsgi, kept: KeptObjects) -> Wsgi:
    """Wrap ``app`` so that a change of an object is on disk before the caller hears that it succeeded."""

    def wrapped(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        answer = app(environ, start_response)
        if environ["REQUEST_METHOD"] in {"PUT", "POST", "DELETE"}:
            path = environ["PATH_INFO"].encode("latin-1").decode()  # WSGI passes UTF-8 as latin-1
            kept.follow(path, whole_bucket="delete" in environ.get("QUERY_STRING", ""))
        return answer

    return wrapped


def main(port: int, folder: Path | None) -> None:
    """Serve until killed."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    app: Wsgi = DomainDispatcherApplication(create_backend_app)
    if folder:
        app = keeping(app, KeptObjects(folder))
    make_server("127.0.0.1", port, app, threaded=True, request_handler=MotoRequestHandler).serve_forever()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
