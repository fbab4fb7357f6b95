"""The HTTP API for streamed answers, as a web app behind the Lambda Web Adapter."""

from baton import composition
from baton.api.deployed import add_trace_flushing, build_streams_app

app = add_trace_flushing(build_streams_app())
composition.prepare_turns()
