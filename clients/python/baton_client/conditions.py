"""One class for each code of the server's table of errors."""

from baton_client._generated.conditions import *  # noqa: F403
