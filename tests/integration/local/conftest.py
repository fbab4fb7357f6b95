"""A local cloud of stand-in functions: ``cloud/`` has their template and code."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from baton_local.gateway.websocket import SocketLimits
from tests.driven_cloud import DrivenCloud

STAND_INS = Path(__file__).parent / "cloud" / "template.yaml"


@pytest.fixture(scope="session")
def stand_in_template() -> Path:
    """The stand-ins' template."""
    return STAND_INS


@pytest.fixture(scope="package")  # it changes the environment of the process
def cloud() -> Iterator[DrivenCloud]:
    """A running local cloud of stand-ins."""
    cloud = DrivenCloud(port=0, template=STAND_INS, data_dir=None, workers=4, limits=SocketLimits(idle=600))
    cloud.start()
    yield cloud
    cloud.stop()
