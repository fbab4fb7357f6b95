"""Questions to the person at the terminal."""

from __future__ import annotations

from baton_deployment.errors import DeploymentError


def ask(question: str, otherwise: str) -> str:
    """Return the answer of the person at the terminal. Raises ``DeploymentError`` if there is none."""
    try:
        return input(question)
    except EOFError:
        print()  # noqa: T201 - the question ends its line
        raise DeploymentError(f"Nobody answers, {otherwise}") from None


def agree(question: str, otherwise: str) -> bool:
    """Return whether the person at the terminal says yes. Raises ``DeploymentError`` if there is none."""
    return ask(f"{question} [y/N] ", otherwise).strip().lower() in ("y", "yes")


def agree_to_deploy(question: str) -> bool:
    """Return whether the person at the terminal agrees to a deployment. Raises ``DeploymentError`` if there is none."""
    return agree(question, "so nothing was deployed. --yes answers.")
