"""The HTTP API's short answers, by Mangum."""

from __future__ import annotations

from mangum import Mangum

from baton import composition

handler = Mangum(composition.api(), lifespan="off")
