"""Errors that a developer can mend. Every message says how."""


class ProjectProblem(Exception):
    """The project cannot be used, or there is none."""


class CheckFailed(Exception):
    """Something of the project cannot be used; it has been told."""
