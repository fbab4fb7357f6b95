"""The HTTP API as a web app, behind the Lambda Web Adapter: answers that stream."""

from baton import composition
from baton.api.deployed import deployed_app

app = deployed_app()
composition.prepare_turns()
