"""The paces at which this process asks models in the background.

Functions of a local cloud share them, because they share the machine and the endpoints.
"""

from __future__ import annotations

from functools import cache

from baton.adapters.models.embedding_pace import EmbeddingPaces


@cache
def embedding_paces() -> EmbeddingPaces:
    """Return the paces of embedding models."""
    return EmbeddingPaces()
