"""Errors that an operator can correct. Every message says how."""


class DeploymentError(Exception):
    """An error that ends a deployment tool. The message is shown without a traceback."""
