def deploy() -> None:
    """Build the project and deploy it to AWS."""
