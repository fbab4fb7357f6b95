"""How things are put into words, whichever rule speaks."""

from __future__ import annotations

import re

from local.demo_model.conversation import Attachment, Said

_YOURS = {
    "my": "your",
    "me": "you",
    "mine": "yours",
    "myself": "yourself",
    "your": "my",
    "you": "me",
    "yourself": "myself",
}
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


def in_quotes(text: str) -> str:
    """``text`` in quotation marks; those inside become single ones."""
    return f"“{text.replace('“', '‘').replace('”', '’')}”"  # noqa: RUF001


def topic(wish: str) -> str:
    """What a text is wished about, as a part of a sentence: ``my cat, please`` is ``your cat``."""
    words = re.sub(
        r"[,.!?\s]*\b(?:please|thanks|thank you)\b.*|[,.!?;:\s]+$", "", wish, flags=re.IGNORECASE | re.DOTALL
    ).split()
    return " ".join(_YOURS.get(word.lower(), word) for word in words[:8]) or "nothing in particular"
