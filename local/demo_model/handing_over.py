"""Handing the conversation over to a specialist, and summing it up for one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from local.demo_model.agreement import is_no, is_yes
from local.demo_model.conversation import Conversation
from local.demo_model.reply import Call, Reply
from local.demo_model.wire import OfferedFunction
from local.demo_model.wording import in_quotes, short

TRANSFER = "transfer_to_"
MAX_WISH = 1000
_SUMS_UP = re.compile(r"\s*Sum up, .*\bfor a colleague who takes over\b", re.DOTALL)
_LINE = re.compile(r"^(user|assistant): (.*(?:\n(?!(?:user|assistant): ).*)*)", re.MULTILINE)
_POLITE = re.compile(
    r"^(?:(?:hi|hello|hey|please|ok(?:ay)?|so|well|hallo|bitte)(?: there)?[\s,!.]+)*"
    r"(?:(?:can|could|would|will) you\s+(?:please\s+)?(?:help me(?: to)?\s+)?"
    r"|i(?:'d| would) like(?: you)?(?: to)?\s+|i (?:want|need|wish)(?: you)?(?: to)?\s+|let'?s\s+|help me(?: to)?\s+"
    r"|please\s+)",
    re.IGNORECASE,
)
_GERMAN = re.compile(
    r"^(?:hallo[\s,!]+)?(?:ich (?:möchte|will|brauche|würde gerne?)|(?:kannst|könntest|würdest) du(?: mir)?)\s+"
    r"(?:bitte\s+)?(.+)",
    re.IGNORECASE,
)
_THEIRS = {"my": "their", "me": "them", "i": "they", "mine": "theirs", "our": "their", "we": "they", "us": "them"}
_WISH = re.compile(
    r"\b(?:creat|mak|build|set(?:ting)? up|automat|teach|design|writ|add|develop|turn|put together|start|need|want|like"
    r"|help|(?:er)?stell|bau|mach|möchte|brauche)\w*\b",
    re.IGNORECASE,
)
_ASKS_ABOUT = re.compile(
    r"^\s*(?:what|who|which|why|when|where|is|are|do|does|did|was|were|tell me|list|show|explain|delete|remove)\b",
    re.IGNORECASE,
)
_CONTINUES = re.compile(
    r"\b(?:continue|resume|go on|carry on|pick up|finish|weiter(?:machen)?|fortsetzen)\b", re.IGNORECASE
)
_OFFERS = re.compile(r"(?:\bcontinue\b|\bweiter\b)[^?]*\?", re.IGNORECASE)
_LATER = re.compile(
    r"(?:no[, ]+)?(?:(?:maybe|perhaps|rather)\s+)?(?:later|(?:another|some other) time|not (?:now|today|yet|right now))"
    r"(?:[, ]+(?:please|thanks|thank you))?[\s.!]*",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"\b(?:talk|speak|connect|hand|transfer|switch|put|bring)\b[^.?!]{0,30}?\b(?:to|with|over|through)\b(.*)",
    re.IGNORECASE,
)
_COMMON = frozenset(["agent", "assistant", "creation", "specialist", "helper", "service", "support", "custom", "main"])


def colleague_summary(conversation: Conversation) -> Reply | None:
    """What the user wants, in a sentence, where Baton asks for a summary for a specialist."""
    if _SUMS_UP.match(conversation.instructions) is None:
        return None
    lines = _LINE.findall(conversation.now.text)
    said = next((text.strip() for who, text in reversed(lines) if who == "user"), conversation.now.text)
    return Reply(wish_summary(said))


def wish_summary(text: str) -> str:
    """A user's wish in a sentence about them."""
    text = " ".join(text[:MAX_WISH].split())
    first = re.split(r"(?<=[.!?])\s", text, maxsplit=1)[0]
    if german := _GERMAN.match(first):
        return f"Der Benutzer möchte {short(german[1].rstrip('.!? '), 200)}."
    wish = _POLITE.sub("", first, count=1).rstrip(".!? ")
    if wish == first.rstrip(".!? ") or not wish:
        return f"User said: {in_quotes(short(text, 200))}"
    theirs = re.sub(
        r"(?<!\w)(?:my|me|i|mine|our|we|us)(?!\w)", lambda w: _THEIRS[w[0].lower()], wish, flags=re.IGNORECASE
    )
    link = " " if re.match(r"(?:an?|the|some|another)\b", theirs) else " to "
    return f"User wants{link}{short(theirs, 200)}."


def hand_over(conversation: Conversation) -> Reply | None:
    """Hands over to the specialist whom the message asks for, or who has something unfinished that is to go on."""
    offered = {name: tool for name, tool in conversation.tools.items() if name.startswith(TRANSFER)}
    if not offered or conversation.results:
        return None
    return _continued(conversation, offered) or _asked_for(conversation.now.text, offered)


def declined(conversation: Conversation) -> Reply | None:
    """Lets rest what was offered to be continued and is not wanted now; answers other polite refusals."""
    text = conversation.now.text.strip()
    if is_no(text) or _LATER.fullmatch(text):
        if any(_OFFERS.search(said[:2000]) for said in _last_said(conversation)):
            return Reply("All right, it can wait. What else can I do for you?")
        if re.search(r"\b(?:thanks|thank you|danke)\b", text, re.IGNORECASE):
            return Reply("All right. I am here if you need anything.")
    return None


def _continued(conversation: Conversation, offered: Mapping[str, OfferedFunction]) -> Reply | None:
    """What is unfinished goes on, where the user says so."""
    text = conversation.now.text.strip()
    offer = next((said for said in reversed(_last_said(conversation)) if _OFFERS.search(said[:2000])), "")
    for tool in offered.values():
        unfinished = _unfinished(tool)
        if not unfinished:
            continue
        named = [each for each, name in unfinished.items() if name.casefold() in text.casefold()]
        meant = [each for each, name in unfinished.items() if name in offer] or list(unfinished)
        wants = named or (offer and is_yes(text)) or len(text) < 80
        if wants and (_CONTINUES.search(text) or (offer and is_yes(text))) and not _ASKS_ABOUT.match(text):
            workflow_id = (named or meant)[0]
            summary = f"User wants to continue {unfinished[workflow_id]}."
            about = {"reason": "The user wants to continue.", "context_summary": summary, "workflow_id": workflow_id}
            return Reply("", (Call(tool.name, about),))
    return None


def _asked_for(text: str, offered: Mapping[str, OfferedFunction]) -> Reply | None:
    """The specialist whose subject the message wishes for, or who is named."""
    text = text[:MAX_WISH]
    named = _NAMED.search(text)
    for tool in offered.values():
        words = [word for word in re.findall(r"[a-z]{3,}", tool.name.removeprefix(TRANSFER)) if word not in _COMMON]
        subject = re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})s?\b", re.IGNORECASE) if words else None
        if subject is None:
            continue
        is_named = named is not None and subject.search(named[1])
        if is_named or (subject.search(text) and _WISH.search(text) and not _ASKS_ABOUT.match(text)):
            about = {"reason": f"The user asks for {_name_of(tool)}.", "context_summary": wish_summary(text)}
            return Reply("", (Call(tool.name, about),))
    return None


def _unfinished(tool: OfferedFunction) -> dict[str, str]:
    """The unfinished workflows that the tool can continue: what each is called, by id."""
    schema = (tool.parameters or {}).get("properties", {}).get("workflow_id", {})
    told = str(schema.get("description", ""))
    found = {}
    for workflow_id in schema.get("enum", ()):
        name = re.search(rf"{re.escape(str(workflow_id))} is (.+?)(?:; |$)", told)
        found[str(workflow_id)] = name[1] if name else "what was left unfinished"
    return found


def _last_said(conversation: Conversation) -> Sequence[str]:
    """What was said to the user since their message before this one."""
    found: list[str] = []
    for said in reversed(conversation.before):
        if said.role == "user":
            break
        found.append(said.text)
    return found[::-1]


def _name_of(tool: OfferedFunction) -> str:
    told = re.match(r"Hand the conversation over to ([^:]{1,80}):", tool.description or "")
    return told[1] if told else tool.name.removeprefix(TRANSFER).replace("_", " ").title()
