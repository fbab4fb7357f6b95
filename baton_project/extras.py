"""The extras of the distribution: ``test`` for tests and evaluations, ``local`` for the local cloud and deployments."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution, requires

from packaging.requirements import Requirement

from baton_project.errors import ProjectProblem

DISTRIBUTION = "baton-conversations"
LOCAL = "local"
TEST = "test"


def require_extra(extra: str, command: str) -> None:
    """Raise ``ProjectProblem`` with the command that installs the extra if its packages are missing."""
    missing = [name for name in list_extra_packages(extra) if not _is_installed(name)]
    if missing:
        names = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'}"
        raise ProjectProblem(
            f"`baton {command}` needs the extra `{extra}`, and {names} not installed: "
            f"run `pip install '{DISTRIBUTION}[{extra}]'`."
        )


def list_extra_packages(extra: str) -> list[str]:
    """Return the names of the packages of an extra, including those of the extras that it contains."""
    added = [
        requirement for requirement in map(Requirement, requires(DISTRIBUTION) or ()) if _is_added(requirement, extra)
    ]
    others = (part for requirement in added if requirement.name == DISTRIBUTION for part in requirement.extras)
    return [
        *(requirement.name for requirement in added if requirement.name != DISTRIBUTION),
        *(name for other in others for name in list_extra_packages(other)),
    ]


def _is_added(requirement: Requirement, extra: str) -> bool:
    """Return whether a requirement applies with the extra only."""
    marker = requirement.marker
    return marker is not None and marker.evaluate({"extra": extra}) and not marker.evaluate({"extra": ""})


def _is_installed(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True
