"""Errors that stop the local cloud from starting. Every message says what the developer can do."""


class LocalCloudError(Exception):
    """An error that keeps the local cloud from running. The message is shown without a traceback."""


class PortTaken(LocalCloudError):
    """Another program listens on the port."""


class EngineFailed(LocalCloudError):
    """An engine (DynamoDB Local, the queues, moto) did not start or keeps ending, or lacks a file or package."""


class TemplateProblem(LocalCloudError):
    """The template contains something that the local cloud cannot interpret."""


class FunctionProblem(LocalCloudError):
    """A function's module is missing, fails to import, or lacks its handler."""
