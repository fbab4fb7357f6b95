# Generated from ``baton_client.asynchronous`` by ``make client``; do not edit.

"""The models that the deployment and its agents use."""

from __future__ import annotations

from baton_client.models import ConfiguredModel, ModelReport
from baton_client.synchronous.resource import Resource

CHECK_SECONDS = 60.0
"""The seconds that a check may take. The server ends its trials before that."""


class Models(Resource):
    """``client.models``."""

    def list(self) -> list[ConfiguredModel]:
        """Return the models of the deployment, and who uses them; needs ``tenant:manage``."""
        return (self._list("/v1/models", ConfiguredModel).page()).items

    def check(self, model: str) -> ModelReport:
        """Try what one of these models can do, with a few short requests to it; needs ``tenant:manage``.

        The checks of the report that failed say what to change. Raises ``NotFoundError`` for other models, and
        ``RateLimitError`` while another check is running.
        """
        body = {"model": model}
        return self._post("/v1/models/check", ModelReport, body, is_repeatable=False, read_seconds=CHECK_SECONDS)
