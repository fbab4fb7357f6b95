"""The models that the deployment and its agents use."""

from __future__ import annotations

from baton_client.asynchronous.resource import AsyncResource
from baton_client.models import ConfiguredModel, ModelReport

CHECK_SECONDS = 60.0
"""The seconds that a check may take. The server ends the check earlier."""


class AsyncModels(AsyncResource):
    """``client.models``."""

    async def list(self) -> list[ConfiguredModel]:
        """Return the models of the deployment, and what uses them. Needs ``tenant:manage``."""
        return (await self._list("/v1/models", ConfiguredModel).page()).items

    async def check(self, model: str) -> ModelReport:
        """Try what one of these models can do, with a few short requests to it. Needs ``tenant:manage``.

        The failed checks of the report say what to change. Raises ``NotFoundError`` for other models, and
        ``RateLimitError`` while another check is running.
        """
        body = {"model": model}
        return await self._post("/v1/models/check", ModelReport, body, is_repeatable=False, read_seconds=CHECK_SECONDS)
