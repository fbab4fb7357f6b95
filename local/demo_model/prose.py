"""Longer texts, always the same for the same wish, to watch an answer stream."""

from __future__ import annotations

import itertools

_PARAGRAPHS = (
    "Once, in a town between the hills and the sea, everybody talked about {topic}. Nobody could say how it had begun; "
    "it was simply there, like the tide, and people had learned to set their clocks by it.",
    "One morning {hero} decided to find out for certain. {hero} packed bread, a lamp and a small notebook, and walked "
    "down to the harbour, where an old sailor was mending nets. “If you look for {topic},” said the sailor, “do not "
    "look far. Look long.”",
    "So {hero} sat down on the wall and watched. Boats came in and boats went out. The notebook filled, first with "
    "drawings, then with questions, and at last with answers, which turned out to be better questions.",
    "When evening came the lamp was passed from hand to hand along the pier, and whoever held it told the part they "
    "knew. No one knew everything, and yet nothing was lost between them. That, wrote {hero}, is the whole secret.",
    "And if you go there today, they will show you the notebook. The last page says: to be continued.",
)
_SENTENCES = (
    "There is more to say about {topic} than fits into one afternoon.",
    "Some begin with what can be seen, others with what can be counted.",
    "Seen from the shore, it all looks calm and almost simple.",
    "Seen from a small boat, it is something else entirely.",
    "People who know it well speak of it slowly and rarely agree.",
    "They do agree that patience helps, and that a good map helps more.",
    "Every map leaves something out, and that is what makes it useful.",
    "Much of what we know was written down by those who stayed up late.",
    "The rest was told by those who got up early.",
    "Between the two lies the part that still waits for its author.",
)


def story(topic: str, hero: str | None) -> str:
    """A short story of five paragraphs."""
    return "\n\n".join(_PARAGRAPHS).format(topic=topic, hero=hero or "Mara")


def words_about(topic: str, count: int) -> str:
    """Exactly ``count`` words, in paragraphs of ten sentences."""
    words: list[str] = []
    for number, sentence in enumerate(itertools.cycle(_SENTENCES)):
        opening = "\n\n" if number and number % len(_SENTENCES) == 0 else ""
        first, *rest = sentence.format(topic=topic).split(" ")
        words += [opening + first, *rest]
        if len(words) >= count:
            break
    text = " ".join(words[:count]).replace(" \n\n", "\n\n").rstrip(",;.")
    return f"{text}."
