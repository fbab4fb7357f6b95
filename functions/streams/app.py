"""The HTTP API for streamed answers, as a web app behind the Lambda Web Adapter."""

from baton import composition
from baton.api.deployed import streams_app, traced_app

app = traced_app(streams_app())
composition.prepare_turns()
