"""The HTTP API as a web app, behind the Lambda Web Adapter: answers that stream."""

from baton import composition
from baton.api.deployed import deployed_app, prepare_streams

app = deployed_app()
prepare_streams()
composition.prepare_turns()
