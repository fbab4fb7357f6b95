"""The HTTP API for streamed answers, as a web app behind the Lambda Web Adapter."""

from baton import composition
from baton.api.deployed import deployed_app, prepare_streams, traced_app

app = traced_app(deployed_app())
prepare_streams()
composition.prepare_turns()
