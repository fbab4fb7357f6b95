"""Procedures as SKILL.md files: YAML front matter and numbered steps.

---
name: Slack Alert
description: Posts an alert to a Slack channel.
triggers:
- send slack alert
allowed-tools:
- slack_post
---

1. Ask which channel the alert goes to.
   (skip if the user has named one)
2. Post the alert.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from baton.domain.memory.procedure import InvalidProcedure, ProcedureDraft, parse_draft
from baton.domain.yaml_text import InvalidYaml, read_yaml

MAX_BYTES = 64 * 1024
"""Bytes of a SKILL.md."""
_FRONT = {"name": "name", "description": "description", "triggers": "triggers", "allowed-tools": "allowed_tools"}
"""Fields of the front matter, and their names in a draft."""
_FILE = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*$(.*)\Z", re.MULTILINE | re.DOTALL)
_STEP = re.compile(r"([0-9]{1,3})\.[ \t]+(\S.*)")
_CONDITION = re.compile(r"[ \t]+\((.+)\)[ \t]*")


def write_skill_markdown(draft: ProcedureDraft) -> str:
    """Return the draft as a SKILL.md, which ``parse_skill_markdown`` reads back."""
    front: dict[str, Any] = {
        "name": draft.name,
        "description": draft.description,
        "triggers": list(draft.triggers),
        "allowed-tools": list(draft.allowed_tools),
    }
    head = yaml.safe_dump(front, allow_unicode=True, sort_keys=False, width=10_000)
    return f"---\n{head}---\n\n{write_numbered_steps(draft)}\n"


def write_numbered_steps(draft: ProcedureDraft) -> str:
    """Return the body of the SKILL.md, also for prompts: the steps, each with its condition on a separate line."""
    return "\n".join(_write_step_lines(draft))


def parse_skill_markdown(text: str) -> ProcedureDraft:
    """Return the draft that a SKILL.md holds. Raises ``InvalidProcedure``."""
    if len(text.encode("utf-8", "replace")) > MAX_BYTES:
        raise InvalidProcedure([f"a SKILL.md has at most {MAX_BYTES // 1024} KB"])
    parts = _FILE.match(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    if parts is None:
        raise InvalidProcedure(["a SKILL.md begins with front matter between two lines of ---"])
    fields = _parse_front_matter(parts[1])
    return parse_draft({**fields, "steps": _parse_steps(parts[2])})


def _parse_front_matter(text: str) -> dict[str, Any]:
    try:
        loaded = read_yaml(text, aliases=False).values
    except InvalidYaml as error:
        raise InvalidProcedure([f"the front matter is not YAML: {str(error)[:300]}"]) from None
    if not isinstance(loaded, dict):
        raise InvalidProcedure(["the front matter is a mapping of fields"])
    unknown = [str(name)[:80] for name in loaded if name not in _FRONT]
    if unknown:
        raise InvalidProcedure([f"the front matter has the unknown field {name!r}" for name in unknown])
    return {_FRONT[name]: value for name, value in loaded.items()}


def _parse_steps(body: str) -> list[dict[str, str]]:
    """Return the numbered steps. Headings and empty lines are ignored. Raises ``InvalidProcedure``."""
    steps: list[dict[str, str]] = []
    for line in body.split("\n"):
        step, condition = _STEP.fullmatch(line), _CONDITION.fullmatch(line)
        if step is not None:
            if int(step[1]) != len(steps) + 1:
                raise InvalidProcedure([f"step {len(steps) + 1} is numbered {step[1]}"])
            steps.append({"text": step[2]})
        elif condition is not None and steps and "condition" not in steps[-1]:
            steps[-1]["condition"] = condition[1]
        elif line.strip() and not line.startswith("#"):
            raise InvalidProcedure([f"this is neither a step (1. ...) nor a step's condition: {line.strip()[:80]!r}"])
    return steps


def _write_step_lines(draft: ProcedureDraft) -> Iterator[str]:
    for number, step in enumerate(draft.steps, start=1):
        yield f"{number}. {step.text}"
        if step.condition is not None:
            yield f"   ({step.condition})"
