"""Models of the server's answers."""

from baton_client.models.base import HttpResponse, Model
from baton_client.models.served import *  # noqa: F403

__all__ = ["HttpResponse", "Model"]
