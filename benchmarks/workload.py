"""The plain turn for measurements: a question of 0.4 KB, and an answer of 1.8 KB streamed in 3 seconds."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

from baton.domain.runs.usage import Usage
from baton.ports.agents.chat_model import Finished, FinishReason, ModelChunk, ModelSettings, Prompt, TextDelta, ToolSpec
from baton.ports.documents.files import ThreadFiles

STREAM_SECONDS = 3.0
"""The seconds in which the answer of a plain turn is streamed."""

QUESTION = (
    "We moved our house plants to the new flat last week and two of them, the big fern and the rubber tree, have begun "
    "to drop leaves, although I water them exactly as often as before. The rooms are brighter here, the radiators are "
    "on in the evening, and the window by the fern does not close well. Is this a reaction to the move, or should I "
    "change something at once, and what would you look at first?"
)

ANSWER = (
    "Most likely it is both: a reaction to the move, and two plants that now live in a different climate. Leaf drop in "
    "the first two or three weeks after a move is common, and on its own no reason to worry. What decides is whether "
    "the new leaves look healthy.\n\n"
    "Start with the fern, because the draught from the window is the one thing I would change today. Ferns lose fronds "
    "quickly when cold air reaches them at night while the radiator dries the room in the evening. Move it two metres "
    "away from the window, out of the direct sun, and set the pot on a tray of wet gravel. If the tips of the fronds "
    "are brown and crisp, the air is too dry; if whole fronds turn yellow from the base, the roots are too wet.\n\n"
    "The rubber tree is tougher. It reacts to the change of light by giving up its oldest leaves at the bottom, and a "
    "brighter room will suit it once it has settled. Leave it where it is, turn it a quarter every week, and do not "
    "feed or repot it before spring. Should it lose leaves at the top as well, look at their undersides for mites, "
    "which like warm and dry rooms.\n\n"
    "Do not water by the calendar for now. Brighter light and heating change how fast a pot dries, so put a finger "
    "three centimetres into the soil: water the fern when that layer only just feels dry, and the rubber tree when it "
    "has been dry for some days. Pour away what stands in the saucer after half an hour.\n\n"
    "In short: move the fern away from the window today, raise the humidity around it, water both by touch, and then "
    "wait three weeks, because plants answer slowly and a second change would only hide what the first one did. If "
    "either plant still loses more than a leaf or two a week by then, take it out of the pot and look at the roots. "
    "Firm and pale is healthy; brown, soft and smelling means rot, and then it needs fresh soil."
)


@dataclass
class PacedModel:
    """A ``ChatModel`` that streams ``ANSWER`` in pieces of about a token.

    The first piece comes after ``silence``, and the pieces are spread evenly over ``seconds`` from then on.
    """

    seconds: float = 0.0
    silence: float = 0.0
    """Seconds before the first token."""

    async def stream(
        self,
        settings: ModelSettings,
        prompts: Sequence[Prompt],
        *,
        thread_files: ThreadFiles,
        tools: Sequence[ToolSpec] = (),
    ) -> AsyncGenerator[ModelChunk, None]:
        """Stream the answer. Each piece is due at a fixed time, so that delays do not add up."""
        loop = asyncio.get_running_loop()
        began = loop.time() + self.silence
        tokens = split_into_pieces(ANSWER)
        for number, token in enumerate(tokens):
            due = began + self.seconds * number / (len(tokens) - 1)
            await asyncio.sleep(max(0.0, due - loop.time()))
            yield TextDelta(token)
        yield Finished(FinishReason.STOP, settings.model, Usage(0, len(tokens)))


async def measure_model_cpu(files: ThreadFiles) -> float:
    """Return the CPU seconds of the fake model alone, which wakes up once per token."""
    before = time.process_time()
    async for _ in PacedModel(STREAM_SECONDS).stream(ModelSettings("scripted"), (), thread_files=files):
        pass  # the stream is only read
    return time.process_time() - before


def split_into_pieces(text: str) -> list[str]:
    """Return the text in pieces of about a token: words with the space before them, and marks."""
    return re.findall(r"\s*\w+|\s*[^\w\s]", text)
