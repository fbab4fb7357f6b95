"""Write a test and its cassette from a stored conversation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import yaml

from baton_testing.batch import record
from baton_testing.conversation_files import ReadFile
from baton_testing.conversation_ports import make_token_counter
from baton_testing.conversation_test import ConversationFile, ModelKind
from baton_testing.errors import CannotRun
from baton_testing.models.cassette import Cassette
from baton_testing.models.choice import Answering
from baton_testing.project_agents import AgentPlace
from baton_testing.recordings.stored_thread import StoredThread
from baton_testing.recordings.thread_test import ThreadTest
from baton_testing.reports.result import ConversationResult
from baton_testing.reports.terminal import make_printable
from baton_testing.runner import Runner

HEAD = """\
# A conversation that was held, without personal data. What agents did then is expected; say what they should have said
# (`says`, `says_not`), change the agents, and record the models' answers again: `baton test {path} --record`.
"""


@dataclass(frozen=True, slots=True)
class Written:
    """The written files, and the result of the present agents with the stored answers."""

    test: Path
    cassette: Path
    result: ConversationResult
    left_out: tuple[str, ...] = ()
    """A sentence for each part of the conversation that the test lacks."""


def write_test(stored: StoredThread, agent_place: AgentPlace, path: Path) -> Written:
    """Write the test of a conversation without personal data to ``path``, and its cassette next to it.

    To make the cassette, the conversation is repeated with the present agents and the stored answers, so that the
    cassette has the prompts of the present agents. Raises ``CannotRun`` if ``path`` exists, there is no message, or the
    agents cannot be read.
    """
    if path.exists():
        raise CannotRun(f"{path} is there already. Name another file: `baton test NEW.yaml --from {stored.id}`.")
    if not stored.messages:
        raise CannotRun(f"The conversation {stored.id} has no messages.")
    agents = agent_place.load()
    test = ThreadTest(stored, agents)
    replayed = ReadFile.of(path, ConversationFile.model_validate(test.make_content(with_answers=True)))
    answering = Answering(ModelKind.SCRIPTED, records=True, may_keep_some=True)
    result = Runner(agents, make_token_counter(), answering).run(replayed, 0)
    path.parent.mkdir(parents=True, exist_ok=True)
    content = test.make_content(with_answers=False)
    text = yaml.dump(content, Dumper=_WithoutAliases, sort_keys=False, allow_unicode=True, width=110)
    left_out = test.list_left_out()
    lacks = "".join(f"# Left out: {part}\n" for part in map(make_printable, left_out))
    path.write_text(HEAD.format(path=path) + lacks + text, encoding="utf-8")
    record([result])
    return Written(path, Cassette.derive_path(path), result, tuple(left_out))


class _WithoutAliases(yaml.SafeDumper):
    """A dumper that repeats equal values, because people edit each of them."""

    def ignore_aliases(self, data: object) -> bool:
        return True
