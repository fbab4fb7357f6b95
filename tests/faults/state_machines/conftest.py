"""The engines on which the state machines run besides memory."""

from tests.integration.store.conftest import on_dynamodb_local, on_moto, s3

__all__ = ["on_dynamodb_local", "on_moto", "s3"]
