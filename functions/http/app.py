"""The HTTP API for short answers, by Mangum."""

from __future__ import annotations

from mangum import Mangum

from baton.api.deployed import build_short_app
from baton.composition.metrics import observed

# Mangum would send other types as base64, which a REST API without binary media types passes on undecoded.
TEXT = ["text/", "application/json", "application/problem+json", "application/yaml"]

handler = observed(Mangum(build_short_app(), lifespan="off", text_mime_types=TEXT))
