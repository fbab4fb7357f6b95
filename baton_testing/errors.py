"""Errors that the author of a test can fix. Every message says how."""


class CannotRun(Exception):
    """Tests cannot be run: a file, an agent, a tool or a setting. Nothing was tested.

    The message has a line for each problem, as ``file:line: field: what is wrong`` where there is a place.
    """
