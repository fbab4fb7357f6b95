"""Run one command in a separate session, freeze and thaw it, and end it with the program that started it.

Started as a script (standard library only): ``python freezer.py COMMAND...``. Each byte of standard input is an order:
``f`` stops all processes of the command, as Lambda freezes an environment between two invocations, and ``t`` continues
them. When standard input closes, which happens however the starting program ends, they are killed.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading

PR_SET_PDEATHSIG = 1
STANDARD_INPUT = 0
ORDERS = {b"f": signal.SIGSTOP, b"t": signal.SIGCONT}


def die_with_freezer() -> None:
    """In the child, before exec: ask Linux for SIGKILL when this program's main thread ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def main(command: list[str]) -> int:
    """Run ``command`` until it ends or until standard input closes; return its exit code."""
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=die_with_freezer)

    def send(number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, number)

    def follow_orders() -> None:
        while order := os.read(STANDARD_INPUT, 1):
            send(ORDERS[order])
        send(signal.SIGKILL)

    threading.Thread(target=follow_orders, daemon=True).start()
    code = child.wait()
    send(signal.SIGKILL)  # extensions outlive the runtime
    return code


if __name__ == "__main__":
    os._exit(main(sys.argv[1:]) & 0xFF)  # the thread for orders may still be reading
