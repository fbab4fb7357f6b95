"""Errors that the author of a test can fix. Every message says how."""


class CannotRun(Exception):
    """An error in a file, an agent, a tool or a setting, because of which tests cannot run. Nothing was tested.

    The message has a line for each problem, as ``file:line: field: problem`` if the position is known.
    """
