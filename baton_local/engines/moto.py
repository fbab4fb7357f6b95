"""moto's server in this process: S3, Secrets Manager, Step Functions and the other services that have no engine.

It keeps the objects of S3 in a folder when given one.
"""

import io
import json
import logging
import sys
import threading
from collections.abc import Callable, Iterable
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from baton_local.account import ACCOUNT
from baton_local.engines.kept_objects import KeptObjects
from baton_local.errors import LocalCloudError
from baton_local.serving.hosts import LocalHosts

if TYPE_CHECKING:
    from werkzeug.serving import BaseWSGIServer

Wsgi = Callable[..., Iterable[bytes]]
Created = Callable[[str, str, int], None]
"""(bucket, key, size) of a stored object."""


class MotoServer:
    """One moto server on a free port. The state is shared by the process and deleted when the last server stops."""

    _running: ClassVar[set["MotoServer"]] = set()

    def __init__(
        self, data_dir: Path | None = None, *, given_up: Callable[[LocalCloudError], None] = lambda _: None
    ) -> None:
        """``data_dir`` is the folder that keeps the objects of S3; None keeps them in memory only.

        ``given_up`` is called with the ``LocalCloudError`` that ``create_state_machines`` raises.
        """
        self._data_dir = data_dir
        self._given_up = given_up
        self._server: BaseWSGIServer | None = None
        self._thread: threading.Thread | None = None
        self.created: Created | None = None
        """Called with every object that is stored."""
        self.announced: Callable[[str], None] | None = None
        """Called with every event that is put on a bus of EventBridge."""
        self.create_state_machines: Callable[[], None] = lambda: None
        """Called before Step Functions is first used, because moto takes more than a second to import it."""

    def start(self) -> str:
        """Start the server, restore the kept objects, and return the endpoint URL."""
        from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
        from werkzeug.serving import make_server

        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        dispatcher = DomainDispatcherApplication(create_backend_app)
        # Without this cache, moto lists its own folder at every request.
        dispatcher.get_backend_for_host = lru_cache(256)(dispatcher.get_backend_for_host)  # type: ignore[method-assign]
        app: Wsgi = serialize_s3(_set_account(dispatcher))
        objects = KeptObjects(self._data_dir) if self._data_dir else None
        if objects:
            app = _keep_changes(app, objects)
        app = _refuse_other_hosts(self._report_created(self._announce_events(self._with_state_machines(app))))

        class Handler(MotoRequestHandler):
            disable_nagle_algorithm = True  # it sends an answer's head and body separately

        self._server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=Handler)
        self._server.daemon_threads = True  # type: ignore[attr-defined]
        self._server.block_on_close = False  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._server.serve_forever, name="moto", daemon=True)
        self._thread.start()
        self._running.add(self)
        endpoint = f"http://127.0.0.1:{self._server.server_port}"
        if objects:
            objects.restore(endpoint)
        return endpoint

    def _report_created(self, app: Wsgi) -> Wsgi:
        """Wrap ``app`` so that ``created`` is called for an object that a PUT has stored."""

        def handle(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
            statuses: list[str] = []

            def start(status: str, *arguments: Any, **options: Any) -> Any:
                statuses.append(status)
                return start_response(status, *arguments, **options)

            answer = app(environ, start)
            bucket, _, key = environ["PATH_INFO"].encode("latin-1").decode().lstrip("/").partition("/")
            is_upload = environ["REQUEST_METHOD"] == "PUT" and key and _is_object(environ.get("QUERY_STRING", ""))
            if self.created is not None and is_upload and statuses and statuses[0].startswith("200"):
                self.created(bucket, key, int(environ.get("CONTENT_LENGTH") or 0))
            return answer

        return handle

    def _announce_events(self, app: Wsgi) -> Wsgi:
        """Wrap ``app`` so that ``announced`` is called for events on EventBridge's buses, which have no receivers."""

        def handle(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
            if environ.get("HTTP_X_AMZ_TARGET") == "AWSEvents.PutEvents" and self.announced is not None:
                for entry in json.loads(_read_body(environ))["Entries"]:
                    self.announced(f"Event of {entry['Source']}: {entry['DetailType']} {entry['Detail']}")
            return app(environ, start_response)

        return handle

    def _with_state_machines(self, app: Wsgi) -> Wsgi:
        """Wrap ``app`` so that the state machines are created when Step Functions is first used."""
        creating = threading.Lock()
        created = False

        def handle(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
            nonlocal created
            service, _, operation = environ.get("HTTP_X_AMZ_TARGET", "").partition(".")
            if service == "AWSStepFunctions" and operation != "CreateStateMachine":
                with creating:
                    if not created:
                        import_module("moto.stepfunctions.urls")  # moto's own import would block all services
                        created = True
                        try:
                            self.create_state_machines()
                        except LocalCloudError as problem:
                            self._given_up(problem)
            return app(environ, start_response)

        return handle

    def stop(self) -> None:
        """End the server and, unless another one runs, delete its state. No error if it does not run."""
        if self._server and self._thread:
            from moto.core.model_instances import reset_model_data
            from moto.s3.models import s3_backends
            from moto.secretsmanager.models import secretsmanager_backends

            self._server.shutdown()
            self._thread.join(5)
            self._server.server_close()
            self._server = self._thread = None
            self._running.discard(self)
            if self._running:
                return
            s3_backends.reset()
            secretsmanager_backends.reset()
            if "moto.stepfunctions.parser.models" in sys.modules:
                # Imported, because a thread may be in the middle of importing it.
                from moto.stepfunctions.parser.models import stepfunctions_parser_backends

                stepfunctions_parser_backends.reset()
            reset_model_data()


def _is_object(query: str) -> bool:
    """Return whether a PUT with this query stores an object, and not its properties or a part of an upload."""
    names = {part.partition("=")[0] for part in query.split("&")}
    return not names & {"tagging", "acl", "retention", "legal-hold", "uploadId"}


def _set_account(app: Wsgi) -> Wsgi:
    """Wrap ``app`` so that its resources have the ARNs that the template's references resolve to."""

    def handle(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        environ["HTTP_X_MOTO_ACCOUNT_ID"] = ACCOUNT
        return app(environ, start_response)

    return handle


def _read_body(environ: dict[str, Any]) -> bytes:
    """Return the request's body, and leave it to be read again."""
    body: bytes = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    environ["wsgi.input"] = io.BytesIO(body)
    return body


def serialize_s3(app: Wsgi) -> Wsgi:
    """Wrap ``app`` so that it handles one call of S3 at a time.

    moto iterates over the keys of a bucket while other threads change them, and answers 500 when that fails.
    """
    lock = threading.Lock()

    def handle(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if "HTTP_X_AMZ_TARGET" in environ:  # another service, whose calls may take long
            return app(environ, start_response)
        if environ.get("CONTENT_LENGTH"):
            _read_body(environ)  # first, so that a slow client does not hold the lock
        with lock:
            return app(environ, start_response)

    return handle


def _refuse_other_hosts(app: Wsgi) -> Wsgi:
    """Wrap ``app`` so that no web page can call it by another host name, because it accepts any credentials."""
    hosts = LocalHosts()

    def handle(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if hosts.include(environ.get("HTTP_HOST", "")):
            return app(environ, start_response)
        start_response("403 Forbidden", [("Content-Type", "text/plain")])
        return [b"Not for this host."]

    return handle


def _keep_changes(app: Wsgi, stored: KeptObjects) -> Wsgi:
    """Wrap ``app`` so that a changed object is on disk before the caller gets the response."""

    def handle(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        answer = app(environ, start_response)
        if environ["REQUEST_METHOD"] in {"PUT", "POST", "DELETE"}:
            path = environ["PATH_INFO"].encode("latin-1").decode()  # WSGI passes UTF-8 as latin-1
            stored.follow(path, whole_bucket="delete" in environ.get("QUERY_STRING", ""))
        return answer

    return handle
