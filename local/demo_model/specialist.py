"""Playing the specialist of a guided workflow, any of them, from its note, its tools and the user's words alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from local.demo_model.agreement import is_no, is_vague, is_yes, leaves
from local.demo_model.conversation import Conversation
from local.demo_model.fields import Field, quoted
from local.demo_model.guide import ADVANCE, RETURN, Guide, guide_of, moves
from local.demo_model.reply import Call, Reply
from local.demo_model.session import WHAT_TO_CHANGE, Session, points, shown
from local.demo_model.skill_words import (
    MAX_WISH,
    is_proposed,
    name_in,
    phrase_for,
    samples_for,
    steps_for,
    to_the_user,
    tools_in,
    wish_in,
)
from local.demo_model.wording import in_quotes, is_goodbye

PARAGRAPH = "\n\n"
TOO_MUCH = (
    "That was so much at once that I cannot see any more where we are. What I could read of it is kept. Shall we go on?"
)
_CHANGE = re.compile(
    r"\s*(?:(?:please|no|nope|wait|actually|oh|well|can (?:you|we)|could (?:you|we)|i(?:'d| would) like(?: to)?"
    r"|i want(?: to)?|let'?s|go)[\s,]+)*"
    r"(?:change|edit|fix|correct|redo|revise|update|replace|rename|back to|a different|another|the wrong)\b",
    re.IGNORECASE,
)
_RENAME = re.compile(
    r"\s*(?:(?:please|no|nope|wait|actually|rather)[\s,]+)*(?:re)?(?:name|call) it\s+(?:to\s+)?(.+)", re.I
)
_READY = re.compile(r"^The skill .+ is saved and active\.$", re.MULTILINE)


def specialist(conversation: Conversation) -> Reply | None:
    """The specialist's part, if this is one: the conversation was handed over to it, and it can hand it back."""
    if ADVANCE not in conversation.tools and RETURN not in conversation.tools:
        return None
    guide = guide_of(conversation)
    if guide is not None:
        return _Specialist(Session(conversation, guide)).reply()
    text = conversation.now.text
    done = leaves(text) or is_goodbye(text) or re.fullmatch(r"(?:i'?m|we are|we'?re) done[.!]*", text, re.IGNORECASE)
    if done and RETURN in conversation.tools and not conversation.results:
        return _hand_back(f"The user is done: {in_quotes(text)}", "completed")
    return None


@dataclass(frozen=True)
class _Specialist:
    session: Session

    @property
    def conversation(self) -> Conversation:
        return self.session.conversation

    @property
    def guide(self) -> Guide:
        return self.session.guide

    def reply(self) -> Reply:
        """The next thing to say or to do."""
        results = self.conversation.results
        if self.guide.is_final:
            return self._finished()
        if results and results[-1].text.startswith("Error: "):
            complaint = results[-1].text.removeprefix("Error: ")
            return Reply(f"That does not work yet: {complaint}\n\n{self._question_now()}")
        if self.guide.is_cut and moves(self.conversation):
            return Reply(TOO_MUCH)
        change = self._change()
        if change is not None:
            return change
        return self._read() if not moves(self.conversation) else self._go_on()

    # What the user has said

    def _read(self) -> Reply:
        """Make of the message what it can be."""
        if leaves(self.session.text) or (is_goodbye(self.session.text) and not is_no(self.session.text)):
            return self._given_up()
        if self.session.asks_what_to_change:
            return self._read_agreement()
        asked = self.session.asked
        if asked is None:
            return self._begin()
        if asked.kind == "steps" and self._has_written(asked):
            return self._read_about_steps(asked)
        if asked.name == "approved" and (added := self._added_samples()):
            return self._keep({"samples": added})
        values = self._values(asked)
        if values:
            return self._keep(values)
        if not asked.is_required and is_no(self.session.text):
            return self._go_on()
        return self._ask_again(asked)

    def _begin(self) -> Reply:
        """The first words with the user, here or after a while: nothing was asked for yet."""
        opening = f"{self.session.text}\n{self.session.summary}"
        if not self.guide.collected and not self.guide.others and (values := self._wished(opening, is_answer=False)):
            return self._keep(values)
        return self._go_on()

    def _read_agreement(self) -> Reply:
        text = self.session.text
        if is_yes(text) or is_no(text):
            booleans = [each for each in self.guide.fields if each.kind == "boolean"]
            if booleans:
                return Reply(booleans[0].question)
            if is_yes(text) and (ahead := self.session.ahead):
                return self._move(ahead)
        return Reply(f"I did not quite get that. {WHAT_TO_CHANGE} Name one of these: {self.session.changeable()}.")

    def _read_about_steps(self, steps: Field) -> Reply:
        text, known = self.session.text, list(self.guide.collected.get(steps.name, ()))
        if is_yes(text) and (ahead := self.session.ahead):
            return self._move(ahead)
        changed = _changed_steps(text, known, steps)
        if changed is not None:
            return self._keep({steps.name: changed})
        return Reply(
            f"Tell me which step to change, such as `step 2: ...`, `add: ...` or `remove step 2`. {steps.question}"
        )

    def _values(self, asked: Field) -> dict[str, Any]:
        """What the message says, as the answer to a question."""
        text = self.session.text
        if self.guide.is_of_skill and asked.name == "description":
            wished = self._wished(text, is_answer=True)
            if wished:
                return wished
        if asked.kind == "array" and is_yes(text) and (suggested := quoted(self.session.suggestion)):
            return {asked.name: suggested}
        value = asked.read(text)
        return {} if value is None else {asked.name: value}

    def _wished(self, text: str, *, is_answer: bool) -> dict[str, Any]:
        """A skill's name and description, as far as the text tells them."""
        names = {each.name for each in self.guide.fields}
        if not self.guide.is_of_skill or not names >= {"name", "description"}:
            return {}
        wish = next(filter(None, (wish_in(line, is_answer=is_answer) for line in text.splitlines())), None)
        if wish is None:
            return {"name": name_in(text)} if name_in(text) else {}
        name = name_in(text) or self.guide.known.get("name") or wish.name
        return {**({"name": name} if name else {}), "description": wish.description}

    def _added_samples(self) -> list[str]:
        """The samples with those that the message wants tried besides."""
        tried = re.match(
            r"\s*(?:please\s+)?(?:also\s+)?(?:try|test|and|what about|how about)\b[:\s]*(.+)", self.session.text, re.I
        )
        found = quoted(self.session.text) or ([tried[1].strip()] if tried else [])
        known = list(self.guide.collected.get("samples", ()))
        return list(dict.fromkeys([*known, *found])) if found else []

    def _change(self) -> Reply | None:
        """What follows from a wish to change something that was collected."""
        wanted = self._wanted_change()
        if wanted is None:
            return None
        name, value_text = wanted
        home = self.guide.home_of(name)
        if home is None:
            return None
        if home != self.guide.state:
            # Once it is changed, the way leads forward again: to where there is something to see.
            return self._move(home) if not moves(self.conversation) else None
        [field] = [each for each in self.guide.fields if each.name == name]
        value = field.read(value_text) if value_text else None
        if value is None:
            return None if field.kind in ("steps", "boolean") else Reply(self._asking_instead(field))
        return self._keep({name: value}) if self.guide.collected.get(name) != value else None

    def _wanted_change(self) -> tuple[str, str] | None:
        """The field that the message wants changed, and to what."""
        text = self.session.text
        if not self.session.assistant_said or len(text) > MAX_WISH:
            return None
        if renamed := _RENAME.match(text):
            return ("name", renamed[1]) if "name" in self.session.everything else None
        may_be_bare = self.session.asks_what_to_change or (
            self.session.asked is not None and self.session.asked.name == "approved"
        )
        for name in self.session.everything:
            spelled = re.escape(name.replace("_", " ")).removesuffix("s") + "s?"
            told = re.search(rf"\b{spelled}\b(?:\s+(?:to|into|should be|is|are)\b|\s*[:=])?\s*(.*)", text, re.I | re.S)
            if told and (_CHANGE.match(text[: told.start()]) or (may_be_bare and told.start() <= 12)):
                return name, told[1].strip()
        return None

    # What comes next

    def _go_on(self) -> Reply:
        """Write, ask, show or move on: whatever the state needs next."""
        guide = self.guide
        if written := self._written():
            return self._keep(written)
        for field in guide.fields:
            if field.name in guide.missing:
                return Reply(self._with_news(self._asking(field)))
        for field in guide.fields:
            if field.is_required or field.name in guide.collected or self._is_authors(field):
                continue
            if field.question not in self.session.asked_so_far or (
                field == self.session.asked and self._wanted_change()
            ):
                return Reply(self._with_news(self._asking(field)))
        steps = [each for each in guide.fields if each.kind == "steps" and self._is_authors(each)]
        booleans = [each for each in guide.fields if each.kind == "boolean" and each.is_required]
        if steps and (self.session.has_arrived or self.session.markdown or self.session.asked is None):
            if not self.session.markdown and not moves(self.conversation):
                return self._keep({})  # to be told how it stands
            return Reply(self._with_news(steps[0].question))
        if booleans and self.session.has_arrived:
            return Reply(self._with_news(booleans[0].question))
        if ahead := self.session.ahead:
            return self._move(ahead)
        return Reply(self._with_news(f"{WHAT_TO_CHANGE} Name one of these: {self.session.changeable()}."))

    def _written(self) -> dict[str, Any]:
        """What is the specialist's own to write here, and is not there yet."""
        guide, known, written = self.guide, self.guide.known, dict[str, Any]()
        for field in guide.fields:
            is_there = field.name not in guide.missing
            if not self._is_authors(field) or (is_there and not (field.name == "samples" and self.session.has_arrived)):
                continue
            if field.kind == "steps":
                written[field.name] = steps_for(known)
                has_tools = any(each.name == "allowed_tools" for each in guide.fields)
                if has_tools and (tools := tools_in(known)):
                    written["allowed_tools"] = tools
            # Of a workflow with much in it the triggers may be left untold: then by what was suggested.
            elif samples := samples_for(known.get("triggers") or [phrase_for(known) or ""]):
                own = [each for each in guide.collected.get(field.name, ()) if not is_proposed(each)]
                if [*own, *samples] != guide.collected.get(field.name):
                    written[field.name] = [*own, *samples]
        return written

    def _is_authors(self, field: Field) -> bool:
        """Whether the state's instructions leave the field to the specialist."""
        if field.kind == "steps":
            return re.search(r"\bwrite\b", self.guide.instructions, re.IGNORECASE) is not None
        if field.name == "allowed_tools":
            return True
        return field.name == "samples" and re.search(r"\bsuggest\b", self.guide.instructions, re.I) is not None

    def _finished(self) -> Reply:
        ready = _READY.search(self.guide.about)
        summary = (
            ready[0] if ready else f"The workflow ({self.guide.workflow}) is complete. {self.session.told_of_all()}"
        )
        if RETURN not in self.conversation.tools:
            return Reply(summary)
        return _hand_back(summary, "completed")

    def _ask_again(self, asked: Field) -> Reply:
        text, told = self.session.text, "I did not quite get that."
        if text.endswith("?") and not is_vague(text):
            told = f"Here I can only help with {self.guide.workflow}, and we are at “{self.guide.label}”."
        question = self._asking(asked)
        return Reply(f"{told}{PARAGRAPH if question[0].isdigit() else ' '}{question}")

    def _given_up(self) -> Reply:
        if RETURN not in self.conversation.tools:
            return Reply(self._question_now())
        return _hand_back(f"The user does not want to go on with {self.guide.workflow} now.", "cancelled")

    def _question_now(self) -> str:
        fields = self.guide.fields
        missing = next((each for each in fields if each.name in self.guide.missing), None)
        return self._asking(missing) if missing else f"{WHAT_TO_CHANGE} Name one of these: {self.session.changeable()}."

    def _asking(self, field: Field) -> str:
        """The question for a field, with a suggestion where there is one."""
        if self.guide.is_of_skill and field.name == "triggers" and (phrase := phrase_for(self.guide.known)):
            return f"{field.question} For example {in_quotes(phrase)}: say yes to take that one."
        return field.question

    def _asking_instead(self, field: Field) -> str:
        known = self.guide.collected.get(field.name)
        return f"So far: {shown(known)}\n\n{field.question}" if known is not None else field.question

    def _with_news(self, question: str) -> str:
        """The question, after what there is to say first."""
        parts = [self._greeting()] if not self.session.assistant_said else []
        markdown, trials = self.session.markdown, self.session.trials
        if markdown and not trials:
            parts.append(f"Here is the SKILL.md:\n\n```markdown\n{markdown}\n```")
        parts.append(trials)
        if not any(parts) and moves(self.conversation):
            parts.append("Got it." if not self.session.has_arrived else f"Got it. Next: {self.guide.label.lower()}.")
        return "\n\n".join(part for part in (*parts, question) if part)

    def _greeting(self) -> str:
        """The first words of the session."""
        guide, known = self.guide, self.guide.known
        name = in_quotes(str(known["name"])) if "name" in known else ""
        if self.session.goes_on:
            subject = name if guide.is_of_skill and name else f"{guide.workflow}, at “{guide.label}”"
            return f"Let's go on with {subject}. So far I have:\n\n{to_the_user(points(known))}"
        if not guide.is_of_skill:
            return f"Hi! I'm here to help you with {guide.workflow}."
        if "description" not in known:
            return "Hi! I'm here to help you create a skill. Let's start with the basics."
        does = to_the_user(str(known["description"])).rstrip(".")
        named = f" I'll call it {name} unless you name it otherwise." if name else ""
        doing = f"{does[0].lower()}{does[1:]}"
        return f"Hi! I'm here to help you create a skill that {doing}.{named}\n\nLet's start with the basics:"

    def _has_written(self, field: Field) -> bool:
        return self._is_authors(field) and field.name in self.guide.collected

    # Calls

    def _keep(self, values: Mapping[str, Any]) -> Reply:
        return Reply("", (Call(ADVANCE, {"state": self.guide.state, "data": dict(values)}),))

    def _move(self, state: str) -> Reply:
        return Reply("", (Call(ADVANCE, {"state": state}),))


def _hand_back(summary: str, outcome: str) -> Reply:
    return Reply("", (Call(RETURN, {"summary": summary, "outcome": outcome}),))


def _changed_steps(text: str, steps: list[Any], field: Field) -> list[Any] | None:
    """The steps after what the text wants of them; None if it is not clear."""
    numbered = re.match(
        r"\s*(?:change |make |replace )?step (\d+)\s*(?:to|into|with|should be|:|=|,)?\s*(.+)", text, re.I | re.S
    )
    removed = re.match(r"\s*(?:please )?(?:remove|delete|drop|leave out) step (\d+)\W*$", text, re.IGNORECASE)
    added = re.match(r"\s*(?:please )?(?:add|also)(?: a| another)?(?: step)?\s*[:,]?\s+(.+)", text, re.I | re.S)
    place = int((numbered or removed or ["", "0"])[1]) - 1
    if removed and 0 <= place < len(steps) and len(steps) > 1:
        return [*steps[:place], *steps[place + 1 :]]
    if numbered and 0 <= place < len(steps) and (new := field.read(numbered[2])):
        return [*steps[:place], new[0], *steps[place + 1 :]]
    if added and (new := field.read(added[1])):
        return [*steps, *new]
    lines = [line for line in text.splitlines() if line.strip()]
    return field.read(text) if len(lines) > 1 else None
