"""Signals that the system delivers to another thread than the first."""

import ctypes
import os
import signal
import sys

import psutil
import pytest


def send_to_other_thread(pid: int, number: signal.Signals) -> None:
    """Signal a process as Linux does when one of its threads starts another just then: not in its main thread."""
    if sys.platform != "linux":
        pytest.skip("Only Linux has tgkill and delivers signals so.")
    other = next((thread.id for thread in psutil.Process(pid).threads() if thread.id != pid), None)
    assert other is not None, "The process has one thread only."
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.tgkill(pid, other, number) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
