"""Fixtures that the tests of model adapters share."""

from tests.models.standins import stand_in_server, stand_ins

__all__ = ["stand_in_server", "stand_ins"]
