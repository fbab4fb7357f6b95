"""What can stop the local cloud from starting; every message says what the developer can do."""


class LocalCloudError(Exception):
    """The local cloud cannot start. The message is shown as it is, without a traceback."""


class PortTaken(LocalCloudError):
    """Another program listens on the port."""


class EngineFailed(LocalCloudError):
    """An engine (DynamoDB Local, the queues, moto) did not come up; carries the end of its log."""


class TemplateProblem(LocalCloudError):
    """The template holds something that the local cloud cannot read."""


class FunctionProblem(LocalCloudError):
    """A function's module is missing, fails to import, or lacks its handler."""
