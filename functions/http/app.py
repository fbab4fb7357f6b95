"""The HTTP API's short answers, by Mangum."""

from __future__ import annotations

from mangum import Mangum

from baton.api.deployed import deployed_app

# Everything else Mangum would send as base64, which a REST API without binary media types hands on as it is.
TEXT = ["text/", "application/json", "application/problem+json"]

handler = Mangum(deployed_app(), lifespan="off", text_mime_types=TEXT)
