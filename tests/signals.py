"""Signals that the system delivers to another thread than the main thread."""

import ctypes
import os
import signal
import sys

import psutil
import pytest


def send_to_other_thread(pid: int, number: signal.Signals) -> None:
    """Send a signal to another thread of a process than its main thread, as Linux may do. Skip the test elsewhere."""
    if sys.platform != "linux":
        pytest.skip("Only Linux has tgkill and delivers signals so.")
    other = next((thread.id for thread in psutil.Process(pid).threads() if thread.id != pid), None)
    assert other is not None, "The process has one thread only."
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.tgkill(pid, other, number) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
