"""An upgrade and the way back: one release is killed at work, and the other continues with its data.

Both run as local clouds from their own trees, in the environment of this one.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from baton_local.root import ROOT
from tests.upgrade.trees import PreviousRelease
from tests.upgrade.two_releases import begin_and_go_on

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def previous() -> Path:
    return PreviousRelease.read().make_tree()


def test_this_release_continues_what_the_previous_one_has_begun(previous: Path) -> None:
    begin_and_go_on(previous, ROOT)


def test_the_previous_release_continues_what_this_one_has_begun(previous: Path) -> None:
    begin_and_go_on(ROOT, previous)
