"""Errors that an operator can correct. Every message says how."""


class DeploymentError(Exception):
    """A deployment tool cannot go on. The message is shown without a traceback."""
