"""Run one command and make sure that it ends with the program that started it.

Started as a script (standard library only): ``python guard.py COMMAND...``. It ends the command when its standard
input closes, which happens however the starting program ends, also by SIGKILL. On Linux the kernel ends the command if
the guard itself is killed.
"""

import ctypes
import os
import signal
import subprocess
import sys
import threading

PR_SET_PDEATHSIG = 1
STANDARD_INPUT = 0
GRACE_SECONDS = 3.0


def die_with_guard() -> None:
    """In the child, before exec: ask Linux for SIGKILL when the guard's main thread ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def end(child: "subprocess.Popen[bytes]") -> None:
    """Terminate the child, and kill it after a grace period."""
    child.terminate()
    try:
        child.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()


def main(command: list[str]) -> int:
    """Run ``command`` until it ends or until standard input closes; return its exit code."""
    preexec = die_with_guard if sys.platform == "linux" else None
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=preexec)

    def watch() -> None:
        while os.read(STANDARD_INPUT, 1):
            pass
        end(child)

    signal.signal(signal.SIGTERM, lambda *_: child.terminate())
    threading.Thread(target=watch, daemon=True).start()
    return child.wait()


if __name__ == "__main__":
    os._exit(main(sys.argv[1:]) & 0xFF)  # the watching thread may still be reading
