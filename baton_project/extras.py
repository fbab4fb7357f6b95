"""The extra ``local`` of the distribution: what runs, tests and deploys projects besides the library."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution, requires

from packaging.requirements import Requirement

from baton_project.errors import ProjectProblem

DISTRIBUTION = "baton-conversations"
LOCAL = "local"


def require_local(command: str) -> None:
    """Raise ``ProjectProblem`` with the command to type if packages of the extra are missing."""
    missing = [name for name in local_packages() if not _is_installed(name)]
    if missing:
        names = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'}"
        raise ProjectProblem(
            f"`baton {command}` needs the extra `{LOCAL}`, and {names} not installed: "
            f"run `pip install '{DISTRIBUTION}[{LOCAL}]'`."
        )


def local_packages() -> list[str]:
    """Return the names of the packages that the extra adds."""
    needed = [Requirement(line) for line in requires(DISTRIBUTION) or ()]
    marked = ((each.name, each.marker) for each in needed if each.marker is not None)
    return [name for name, marker in marked if marker.evaluate({"extra": LOCAL}) and not marker.evaluate({"extra": ""})]


def _is_installed(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True
