"""Questions to the person at the terminal."""

from __future__ import annotations

from baton_deployment.errors import DeploymentError


def ask(question: str, otherwise: str) -> str:
    """Return the answer at the terminal. Raises ``DeploymentError`` with ``otherwise`` if nobody answers."""
    try:
        return input(question)
    except EOFError:
        print()  # noqa: T201 - the question ends its line
        raise DeploymentError(f"Nobody answers, {otherwise}") from None


def agree(question: str, otherwise: str) -> bool:
    """Return whether the person at the terminal answers yes. Raises ``DeploymentError`` if nobody answers."""
    return ask(f"{question} [y/N] ", otherwise).strip().lower() in ("y", "yes")


def agree_to_deploy(question: str) -> bool:
    """Return whether the person at the terminal agrees to deploy. Raises ``DeploymentError`` if nobody answers."""
    return agree(question, "so nothing was deployed. --yes answers.")
