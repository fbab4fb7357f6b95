"""Errors that a developer can fix. Every message says how."""


class ProjectProblem(Exception):
    """The project cannot be used, or there is none."""


class CheckFailed(Exception):
    """A part of the project cannot be used; the problem is printed already."""
