"""How things are put into words, whichever rule speaks."""

from __future__ import annotations

import re

from local.demo_model.conversation import Attachment, Said

_STOP_WORDS = """
a an the of to in on for with and or but is are was were be been am do does did can could would should will shall
i you he she it we they me my your our their this that these those what who where when why how which please tell
about have has had not so if then there here just any some more very much many let give want need like know think
"""
_STOP = frozenset(_STOP_WORDS.split())
_GOODBYE = re.compile(
    r"(?:(?:ok(?:ay)?|thanks|thank you(?: very much| so much)?|thx|great|perfect|well|alright|all right|no|nothing"
    r"|then|please|let'?s|(?:can|could|would|will) you|i(?:'d| would) like to|i want to)\b[\s,.!]*)*"
    r"(?:"
    r"(?:(?:good[\s-]?|bye[\s-]?)?bye|farewell|good night)\b(?!\s+(?:is|was|to|in|means)\b)[^?]{0,60}"
    r"|see (?:you|ya)(?: (?:later|soon|again|around|then|tomorrow|next \w+))?"
    r"|that(?:'s| is| was|'ll be| will be) (?:all|it|everything)(?: (?:for (?:today|now)|i (?:need(?:ed)?|wanted)))?"
    r"|(?:end|close|finish|stop) (?:the|this|our) (?:conversation|chat|session)"
    r")"
    r"(?:[\s,.!]*\b(?:thanks|thank you(?: very much| so much)?|thx|then|now|here|please|baton|everyone"
    r"|(?:good)?bye)\b)*"
    r"[\s.!?]*",
    re.IGNORECASE,
)


def sentence_list(subject: str, things: list[str]) -> str:
    """One sentence a thing."""
    return " ".join(f"{subject} {thing}." for thing in things)


def described(attachment: Attachment) -> str:
    """One line about an attachment."""
    facts = [fact for fact in (attachment.mime_type, size(attachment.size)) if fact]
    line = f"- {attachment.kind} **{attachment.name}**" + (f" ({', '.join(facts)})" if facts else "")
    return line + (f", which begins with: “{attachment.first_line}”" if attachment.first_line else "")


def size(size: int | None) -> str | None:
    """Bytes in words."""
    if size is None:
        return None
    return f"{size} bytes" if size < 1024 else f"{size / 1024:.1f} KB"


def quoted(said: Said) -> str:
    """A message cut to be quoted; its attachments' names if it has no text."""
    names = ", ".join(attachment.name for attachment in said.attachments)
    return short(said.text, 160) or f"({names})"


def short(text: str, limit: int) -> str:
    """``text`` on one line, cut at ``limit`` characters."""
    text = " ".join(text.split())
    return text if len(text) <= limit else f"{text[:limit].rstrip()}…"


def count(number: int, noun: str) -> str:
    """``1 message``, ``2 messages``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def is_goodbye(text: str) -> bool:
    """Whether ``text`` is a farewell and nothing else."""
    return len(text) <= 200 and _GOODBYE.fullmatch(text.strip()) is not None


def topic(text: str) -> str:
    """The first few telling words of ``text``."""
    words = [word for word in re.findall(r"[\w'-]+", text) if word.lower() not in _STOP]
    return " ".join(words[:4]) or "that"
