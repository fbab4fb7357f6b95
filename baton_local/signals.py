"""How the main thread waits when a signal may end the wait."""

NOTICED_SECONDS = 0.2
"""The longest that the main thread may wait at once.

Python runs signal handlers in the main thread, and a signal wakes that thread only if the system delivers it there.
Linux may deliver it to a thread that is starting another thread just then: the handler would not run before the wait
ends, https://docs.python.org/3/library/signal.html#execution-of-python-signal-handlers.
"""
