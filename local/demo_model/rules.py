"""What the demo model answers: the first rule that has an answer gives it.

A rule is a function from the conversation to a ``Reply``, or None if it has nothing to say. To teach the demo model
something new, write one more and put it into ``RULES`` at its place; the default comes last.
"""

from __future__ import annotations

import re

from local.demo_model.arithmetic import evaluate, expression_in, formatted
from local.demo_model.consulting import answer_from_results, asked_agent, consult, offered_agents
from local.demo_model.conversation import Conversation
from local.demo_model.facts import facts_of, key_of
from local.demo_model.following import matched_skill
from local.demo_model.handing_over import TRANSFER, colleague_summary, declined, hand_over
from local.demo_model.outside_tools import tools_asked_for
from local.demo_model.prose import story, words_about
from local.demo_model.reply import Call, Reply, Rule
from local.demo_model.specialist import specialist
from local.demo_model.wording import count, described, in_quotes, is_goodbye, quoted, sentence_list, short, topic

MAX_WORDS = 5000
END_CONVERSATION = "end_conversation"
"""Baton's tool that closes the thread."""


def answer(conversation: Conversation) -> Reply:
    """The demo model's answer to the last user message."""
    for rule in RULES:
        reply = rule(conversation)
        if reply is not None:
            return reply
    return default(conversation)


def goodbye(conversation: Conversation) -> Reply | None:
    """Says goodbye, and ends the conversation where there is a tool for it."""
    if not is_goodbye(conversation.now.text):
        return None
    if END_CONVERSATION in conversation.called:
        return Reply("" if conversation.since else "Goodbye!")
    name = facts_of(conversation.told).name
    farewell = f"Goodbye{', ' + name if name else ''}! This conversation is kept, so you can come back to it."
    if END_CONVERSATION not in conversation.tools:
        return Reply(farewell)
    return Reply(farewell, (Call(END_CONVERSATION, {"reason": "The user said goodbye."}),))


def what_it_is(conversation: Conversation) -> Reply | None:
    """Says plainly that no language model is at work."""
    asked = (
        r"\b(who|what) (are|r) (you|u)\b|\bwhat(?:'s| is) your name\b|\byour name\?|\bintroduce yourself\b"
        r"|\b(which|what) model\b|\bare you (an? )?(real|ai|human|bot|gpt|llm|chatgpt|robot|model)\b"
    )
    if not _asks(conversation, asked):
        return None
    return Reply(
        "I am the **offline demo model**: a rule-based stand-in for a language model, so that Baton can be tried "
        "without an account or a network. I follow a short list of rules and know only the messages of this "
        "conversation. " + _HOW_TO_REPLACE
    )


def what_it_can(conversation: Conversation) -> Reply | None:
    """A list of things to try."""
    if not _asks(
        conversation,
        r"\b(what|how) can (you|i) (do|ask|help|try)"
        r"|^\s*/?help\b|\bcan you help\b|\bhelp me\b|\bwhat do you know\?|\bhow do you work\b",
    ):
        return None
    research = (
        "- ask `What are the best practices for error handling in Python agents?` to see other agents being consulted\n"
        if offered_agents(conversation)
        else ""
    )
    skill = (
        "- say `I want to create a skill that sends Slack alerts` to meet an agent that builds it with you\n"
        if any(name.startswith(TRANSFER) and "skill" in name for name in conversation.tools)
        else ""
    )
    return Reply(
        "I am the offline demo model, a rule-based stand-in, but you can try a few things with me:\n\n"
        f"{research}{skill}"
        "- tell me a fact (`my name is Ada`, `my favourite colour is green`, `remember that the meeting is at noon`) "
        "and ask me about it later\n"
        "- ask `what did I say before?` or `summarize our conversation`\n"
        "- attach an image or a document and ask me what it is\n"
        "- give me some arithmetic, such as `what is 12 * (3 + 4)?`\n"
        "- ask me to `tell me a story` or to `write 300 words about lighthouses` to watch the answer stream"
    )


def attachments(conversation: Conversation) -> Reply | None:
    """Describes what came with the message, or what came before, when asked about it."""
    found = conversation.now.attachments
    if not found and _asks(conversation, r"\b(image|picture|photo|file|document|attachment|pdf|upload)s?\b"):
        earlier = [said.attachments for said in conversation.user_before if said.attachments]
        if not earlier:
            return None
        return Reply("Earlier in this conversation you sent me:\n\n" + "\n".join(map(described, earlier[-1])))
    if not found:
        return None
    return Reply(
        f"Thank you, I received {count(len(found), 'attachment')}:\n\n"
        + "\n".join(map(described, found))
        + "\n\nAs the offline demo model I can tell you what arrived, but I cannot look inside pictures or PDFs."
    )


def recall_notes(conversation: Conversation) -> Reply | None:
    """What the user asked to keep in mind."""
    if not _asks(
        conversation,
        r"\bwhat (did i|have i|i) (ask|tell|told|asked)\b.*\bremember"
        r"|\bwhat (do|should|did) you remember\b|\bmy notes?\?",
    ):
        return None
    facts = facts_of(conversation.told)
    if facts.remembered:
        return Reply("You asked me to remember:\n\n" + "\n".join(f"- {note}" for note in facts.remembered))
    return Reply(_known(conversation) or "You have not asked me to remember anything in this conversation yet.")


def recall_name(conversation: Conversation) -> Reply | None:
    """The user's name."""
    if not _asks(conversation, r"\bmy name\b|\bwho am i\b|\bwhat am i called\b") or not _is_question(conversation):
        return None
    name = facts_of(conversation.told).name
    return Reply(f"Your name is {name}." if name else "You have not told me your name yet. What is it?")


def recall_fact(conversation: Conversation) -> Reply | None:
    """``what is my X?``, ``where do I live?``, ``what do I like?``, ``what do you know about me?``"""
    text = conversation.now.text
    facts = facts_of(conversation.told)
    if re.search(r"\b(know|remember|tell me|told you) about me\b", text, re.I):
        return Reply(_known(conversation) or "You have not told me anything about yourself in this conversation yet.")
    if not _is_question(conversation):
        return None
    if asked := re.search(r"\b(?:where|what|who|for whom) do i (live|work|study|come)\b", text, re.I):
        verb = asked[1].lower()
        return Reply(
            f"You {verb} {facts.does[verb]}." if verb in facts.does else f"You have not told me where you {verb}."
        )
    if re.search(r"\bwhere am i from\b", text, re.I):
        return Reply(
            f"You are {facts.does['are']}." if "are" in facts.does else "You have not told me where you are from."
        )
    if re.search(r"\bhow old am i\b", text, re.I):
        return Reply(
            f"You are {facts.mine['age']}." if "age" in facts.mine else "You have not told me how old you are."
        )
    if re.search(r"\bwhat do i (like|love|enjoy|prefer|hate)\b", text, re.I):
        return Reply(sentence_list("You", facts.likes) if facts.likes else "You have not told me what you like.")
    if asked := re.search(
        r"\b(?:what|which|who|when|where|how old)(?:'s| is| are| was)"
        r"\s+my\s+([\w' -]{1,60}?)\s*(?:again|called|name)?\s*\?*$",
        text.strip(),
        re.I,
    ):
        key = key_of(asked[1]).removesuffix("'s")
        known = next((k for k in (key, f"{key}'s name", f"{key} name") if k in facts.mine), None)
        if known is not None:
            return Reply(facts.about(known))
        return Reply(f"You have not told me about your {key} in this conversation. You could: `my {key} is ...`")
    return None


def recall_words(conversation: Conversation) -> Reply | None:
    """``what did I say before?``, ``what was my first message?``, ``what did you say?``"""
    if _asks(conversation, r"\bwhat (did|have) you (just )?(say|said|answer|tell|told)"):
        last = next((said for said in reversed(conversation.before) if said.role == "assistant"), None)
        return Reply(f"I said: {in_quotes(short(last.text, 400))}" if last else "I have not said anything before this.")
    which = (
        r"\bwhat (did|have) i (just )?(say|said|ask|asked|write|wrote|tell|told)\b|\brepeat what i said\b"
        r"|\bmy (first|last|previous|earlier) (message|question|sentence)\b"
    )
    if not _asks(conversation, which):
        return None
    if not conversation.user_before:
        return Reply("This is the first thing you have said in this conversation.")
    if re.search(r"\b(first|begin|start|beginning)\b", conversation.now.text, re.I):
        return Reply(f"The first thing you said was: {in_quotes(quoted(conversation.user_before[0]))}")
    return Reply(f"Just before this you said: {in_quotes(quoted(conversation.user_before[-1]))}")


def summary(conversation: Conversation) -> Reply | None:
    """A summary of the conversation so far."""
    if not _asks(
        conversation, r"\bsum(marize|marise| up|mary)\b|\brecap\b|\bwhat (did|have) we (talk|discuss|been talking)"
    ):
        return None
    before = conversation.user_before
    if not before:
        return Reply("There is nothing to summarize yet: this is your first message in this conversation.")
    listed = [f"{number}. You: {in_quotes(quoted(said))}" for number, said in enumerate(before, 1)]
    shown = listed if len(listed) <= 12 else [*listed[:4], f"... {len(listed) - 10} more ...", *listed[-6:]]
    known = facts_of(conversation.told).sentences()
    learned = "\n\nWhat I learned about you: " + " ".join(known) if known else ""
    return Reply(f"So far you have sent me {count(len(before), 'message')}:\n\n" + "\n".join(shown) + learned)


def long_text(conversation: Conversation) -> Reply | None:
    """Stories and texts of a given length, to watch an answer stream."""
    text = conversation.now.text
    asked = re.search(
        r"\b(?:write|give me|say|generate|produce)\b.{0,40}?\b(\d{1,6})\s*[- ]?words?\b"
        r"(?:\s+(?:about|on|of)\s+(.{1,80}))?",
        text,
        re.I,
    )
    if asked:
        return Reply(words_about(topic(asked[2] or "the sea"), min(max(int(asked[1]), 1), MAX_WORDS)))
    asked = re.search(
        r"\b(?:story|tale|poem|essay|long (?:answer|text))\b(?:\s+(?:about|on|of)\s+(.{1,80}))?", text, re.I
    )
    if asked and re.search(r"\b(tell|write|read|give|another|want|make|story)\b", text, re.I):
        return Reply(story(topic(asked[1] or "a lighthouse"), facts_of(conversation.told).name))
    if asked := re.search(r"\bcount (?:up )?(?:from (\d{1,6}) )?to (\d{1,6})\b", text, re.I):
        first, last = int(asked[1] or 1), int(asked[2])
        return (
            Reply(", ".join(map(str, range(first, min(last, first + MAX_WORDS) + 1))) + ".") if last >= first else None
        )
    return None


def arithmetic(conversation: Conversation) -> Reply | None:
    """``what is 12 * (3 + 4)?``, ``17 plus 4``, ``15% of 80``"""
    expression = expression_in(conversation.now.text)
    if expression is None:
        return None
    try:
        return Reply(f"{expression.shown} = {formatted(evaluate(expression.python))}")
    except ZeroDivisionError:
        return Reply(f"{expression.shown} has no result: one cannot divide by zero.")
    except (ValueError, OverflowError):
        return Reply("That number is too large for me.")


def time_of_day(conversation: Conversation) -> Reply | None:
    """It has no clock, and says so."""
    if not _asks(
        conversation,
        r"\bwhat (time|day|date|year) is it\b|\bwhat(?:'s| is) (the (time|date|day)|today)|\bthe weather\b|\bnews\b",
    ):
        return None
    return Reply(
        "I do not know: as the offline demo model I have no clock and no network, only the messages you send me."
    )


def repeat(conversation: Conversation) -> Reply | None:
    """``repeat after me: ...`` and ``say: ...``"""
    asked = re.match(
        r"\s*(?:please\s+)?(?:repeat after me|repeat|say|echo)\b\s*[:,]?\s+(.+)", conversation.now.text, re.I | re.S
    )
    return Reply(asked[1].strip().strip('"“”')) if asked else None


def greeting(conversation: Conversation) -> Reply | None:
    """Hello."""
    text = conversation.now.text.strip()
    if not re.match(
        r"(hi|hello|hey|good (morning|afternoon|evening|day)|greetings|howdy|hallo|hola|bonjour|ciao|moin|servus)\b",
        text,
        re.I,
    ):
        return None
    rest = re.sub(
        r"^\w+(\s+(morning|afternoon|evening|day))?[\s,.!]*(there|baton|everyone|assistant)?[\s,.!]*",
        "",
        text,
        flags=re.I,
    )
    name = facts_of(conversation.told).name
    hello = f"Hello{', ' + name if name else ''}!"
    if not rest or re.match(r"how are you", rest, re.I):
        again = " Nice to see you again." if conversation.user_before else " What would you like to talk about?"
        return Reply(f"{hello}{again} (I am the offline demo model; ask me `what can you do?`)")
    if told := facts_of([conversation.now.text]).sentences():
        news = [sentence for sentence in told if not sentence.startswith("Your name is ")]
        return Reply(" ".join([hello, "Nice to meet you.", *news]))
    return None


def courtesy(conversation: Conversation) -> Reply | None:
    """Thanks, how are you, and short answers."""
    text = conversation.now.text.strip()
    if re.match(r"(thanks|thank you|thx|cheers|great|perfect|nice|cool|awesome)\b.{0,30}$", text, re.I):
        return Reply("You are welcome! Is there anything else?")
    if re.match(r"how are you|how(?:'s| is) it going", text, re.I):
        return Reply("All my rules are in good order, thank you. How are you?")
    if re.match(r"(yes|no|yeah|nope|ok|okay|sure|maybe)[.! ]*$", text, re.I):
        last = next((said for said in reversed(conversation.before) if said.role == "assistant"), None)
        noted = f"Noted: {in_quotes(text.rstrip('.! '))}."
        return Reply(
            f"{noted} We were at: {in_quotes(short(last.text, 120))}" if last and last.text[:6] != "Noted:" else noted
        )
    return None


def learning(conversation: Conversation) -> Reply | None:
    """Confirms what was told, so that the user sees that it was understood."""
    told = facts_of([conversation.now.text])
    if not (sentences := told.sentences()):
        return None
    notes = [f"I will remember for this conversation: {note}." for note in told.remembered]
    about_the_user = sentences[: len(sentences) - len(notes)]
    return Reply(" ".join([*about_the_user, *(notes or ["I will remember it for this conversation."])]))


def default(conversation: Conversation) -> Reply:
    """Quotes the topic and says what is answering."""
    text = conversation.now.text
    if not text:
        return Reply("I received your message, but there was no text in it.")
    asked = "You asked" if _is_question(conversation) else "You said"
    return Reply(
        f"{asked}: {in_quotes(short(text, 280))}\n\n"
        "I am the offline demo model, a rule-based stand-in, and have no rule for that. All I can tell you is that "
        f"your message arrived, as number {len(conversation.user_before) + 1} of this conversation. Ask me "
        f"`what can you do?` for things to try. {_HOW_TO_REPLACE}"
    )


RULES: tuple[Rule, ...] = (
    colleague_summary,
    specialist,
    asked_agent,
    goodbye,
    matched_skill,
    declined,
    hand_over,
    answer_from_results,
    tools_asked_for,
    what_it_is,
    what_it_can,
    attachments,
    recall_notes,
    recall_words,
    summary,
    consult,
    recall_name,
    recall_fact,
    repeat,
    long_text,
    arithmetic,
    time_of_day,
    greeting,
    courtesy,
    learning,
)

_HOW_TO_REPLACE = (
    "To talk to a real model, set `OPENAI_API_KEY`, `BATON_CHAT_MODEL` and, for another provider, `OPENAI_BASE_URL`, "
    "and start `make run` again."
)


def _asks(conversation: Conversation, pattern: str) -> bool:
    return re.search(pattern, conversation.now.text, re.I) is not None


def _is_question(conversation: Conversation) -> bool:
    text = conversation.now.text.strip()
    opens = r"(what|who|where|when|why|how|which|do|does|did|is|are|can|could|would|tell me|please tell|say|and what)\b"
    return text.endswith("?") or re.match(opens, text, re.I) is not None


def _known(conversation: Conversation) -> str:
    return "\n".join(f"- {sentence}" for sentence in facts_of(conversation.told).sentences())
