"""The likeness of sentences by the sentence encoder, which runs on the event loop's threads."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from baton_local.demo_model.sentence_encoder import SentenceEncoder

logger = logging.getLogger("baton_local.demo_model")

PATIENCE_SECONDS = 10.0
"""The longest time that an answer waits for the encoder, which may be loading."""


class EncoderLikeness:
    """A comparison of sentences for callers in other threads than the encoder's event loop."""

    def __init__(self, encoder: SentenceEncoder) -> None:
        self._encoder = encoder
        self._failure: Exception | None = None

    def compare(self, question: str, texts: Sequence[str], loop: asyncio.AbstractEventLoop) -> list[float] | None:
        """Return the cosine similarity of a question to each text. ``loop`` is the encoder's event loop.

        Returns None if the encoder is late, or if this call or an earlier one has failed. The caller must be in another
        thread than ``loop``.
        """
        if self._failure is not None:
            return None
        encoding = asyncio.run_coroutine_threadsafe(self._encoder.encode([question, *texts]), loop)
        try:
            vectors = encoding.result(PATIENCE_SECONDS).vectors
        except TimeoutError:
            encoding.cancel()
            return None
        except Exception as error:  # noqa: BLE001  an answer by words is better than none
            self._failure = error
            logger.warning("The demo model compares words, because the sentence encoder failed: %s", error)
            return None
        likenesses: list[float] = (vectors[1:] @ vectors[0]).tolist()
        return likenesses
