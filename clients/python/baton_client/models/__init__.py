"""Models of the server's answers."""

from baton_client._generated.served import *  # noqa: F403
from baton_client.model_base import HttpResponse, Model

__all__ = ["HttpResponse", "Model"]
