"""Agents as YAML files: everything that can be wrong is named with its file, line and field."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.adapters.agent_files import AgentFileError, AgentFiles, load_agent
from baton.domain.agent import AgentDefinition
from local.settings import ROOT

GOOD = """\
id: assistant
name: Assistant
description: Helps.
system_prompt: You help.
main: true
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "assistant.yaml").write_text(GOOD)
    return tmp_path


def problems(path: Path, text: str) -> list[str]:
    """What is said about a file with ``text``, a line each, without the path."""
    path.write_text(text)
    with pytest.raises(AgentFileError) as refusal:
        load_agent(path)
    return [line.removeprefix(f"{path}:") for line in str(refusal.value).splitlines()]


def test_the_agents_of_this_repository_are_good() -> None:
    catalog = AgentFiles.load(ROOT / "agents")
    assert catalog.default_main().id == "assistant"
    assert catalog.get("assistant") in catalog.all()
    assert catalog.get("nobody") is None


def test_what_is_left_out_has_its_default(folder: Path) -> None:
    agent = load_agent(folder / "assistant.yaml")
    assert agent == AgentDefinition(
        id="assistant", name="Assistant", description="Helps.", system_prompt="You help.", main=True
    )
    assert (agent.model.name, agent.memory.max_working_memory_tokens, agent.timeouts.idle_minutes) == (None, 16_000, 30)


@pytest.mark.parametrize(
    ("text", "line", "field"),
    [
        (GOOD + "colour: red\n", 6, "colour"),
        (GOOD + "model:\n  name: x\n  temprature: 1\n", 8, "model.temprature"),
        (GOOD + "model:\n  name: x\n  temperature: 3\n", 8, "model.temperature"),
        (GOOD + "model:\n  temperature: .nan\n", 7, "model.temperature"),
        (GOOD + "memory: {semantic_top_k: many}\n", 6, "memory.semantic_top_k"),
        (GOOD + "timeouts:\n  turn_seconds: 0\n", 7, "timeouts.turn_seconds"),
        (GOOD + "required_permissions:\n  - audit:read\n  - Not A Name\n", 8, "required_permissions.1"),
        (GOOD + "sub_agents: [ok, Not-Ok]\n", 6, "sub_agents.1"),
        (GOOD + "sentences:\n  en:\n    still_waiting: ''\n", 8, "sentences.en.still_waiting"),
        (GOOD + "sentences:\n  en: {}\n  English: {}\n", 8, "sentences.English"),
        (GOOD + "sentences:\n  de: {}\n", 1, "(file)"),
        (GOOD.replace("id: assistant", "id: Assistant"), 1, "id"),
        (GOOD.replace("name: Assistant", "name: '  '"), 2, "name"),
        (GOOD.replace("name: Assistant\n", ""), 1, "name"),
        (GOOD + "1: x\n", 6, "1"),
        (GOOD + "name: Again\n", 6, "name"),
        (GOOD + "model:\n  name: x\n  name: y\n", 8, "name"),
        (GOOD + "tools:\n  - {a: 1, a: 2}\n", 7, "a"),
    ],
)
def test_a_problem_is_named_with_its_line_and_field(tmp_path: Path, text: str, line: int, field: str) -> None:
    [problem] = problems(tmp_path / "agent.yaml", text)
    assert problem.startswith(f"{line}: {field}: ")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "just words",
        "- a list",
        "id: [unclosed",
        "id: x\n\tname: tab",
        "id: x\n---\nid: y\n",
        "id: !!python/object:os.system x",
        "? [a, b]\n: c",
        "{[1]: x}",
        "id: &a [*a]",
        "id: *nowhere",
        "since: 2026-02-31",
        "id: \x00",
    ],
)
def test_a_file_that_is_no_agent_at_all_is_named(tmp_path: Path, text: str) -> None:
    first, *_ = problems(tmp_path / "agent.yaml", text)
    assert first.partition(":")[0].isdigit()


def test_a_file_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    (tmp_path / "agent.yaml").write_bytes(b"id: \xff\xfe")
    with pytest.raises(AgentFileError, match=r"agent\.yaml:1"):
        load_agent(tmp_path / "agent.yaml")


def test_every_problem_of_a_file_is_told_at_once(tmp_path: Path) -> None:
    told = problems(tmp_path / "agent.yaml", "id: X\nname: A\nmemory:\n  relevance_floor: 7\nextra: 1\n")
    assert [line.rpartition(": ")[0].split(": ")[:2] for line in told] == [
        ["1", "id"],
        ["1", "description"],
        ["1", "system_prompt"],
        ["4", "memory.relevance_floor"],
        ["5", "extra"],
    ]


def test_the_problems_of_all_files_are_told_at_once(folder: Path) -> None:
    (folder / "b.yaml").write_text("id: b\n")
    (folder / "c.yaml").write_text("nonsense")
    with pytest.raises(AgentFileError) as refusal:
        AgentFiles.load(folder)
    told = str(refusal.value)
    assert "b.yaml:1: name" in told
    assert "c.yaml:1" in told
    assert "assistant.yaml" not in told


def test_two_files_cannot_define_one_agent(folder: Path) -> None:
    (folder / "copy.yaml").write_text(GOOD)
    with pytest.raises(AgentFileError, match=r"copy\.yaml:1: id: .*'assistant'"):
        AgentFiles.load(folder)


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ("[nobody]", "there is no agent 'nobody'"),
        ("[assistant]", "cannot ask itself"),
        ("[web-x, web_x]", "'web-x' and 'web_x' would have the same tool's name"),
    ],
)
def test_agents_that_agents_ask_must_be_there_and_tell_apart(folder: Path, asked: str, problem: str) -> None:
    for other in ("web-x", "web_x"):
        text = GOOD.replace("id: assistant", f"id: {other}").replace("main: true", "main: false")
        (folder / f"{other}.yaml").write_text(text)
    (folder / "assistant.yaml").write_text(GOOD + f"sub_agents: {asked}\n")
    with pytest.raises(AgentFileError, match=problem):
        AgentFiles.load(folder)


@pytest.mark.parametrize(
    ("targets", "problem"),
    [
        ("[nobody]", "handoffs: there is no agent 'nobody'"),
        ("[{agent: nobody, reason: Never.}]", "handoffs: there is no agent 'nobody'"),
        ("[web-x, web_x]", "handoffs: 'web-x' and 'web_x' would have the same tool's name"),
    ],
)
def test_agents_that_agents_hand_over_to_must_be_there_and_tell_apart(folder: Path, targets: str, problem: str) -> None:
    for other in ("web-x", "web_x"):
        text = GOOD.replace("id: assistant", f"id: {other}").replace("main: true", "main: false")
        (folder / f"{other}.yaml").write_text(text)
    (folder / "assistant.yaml").write_text(GOOD + f"handoffs: {targets}\n")
    with pytest.raises(AgentFileError) as refusal:
        AgentFiles.load(folder)
    assert str(refusal.value) == f"{folder / 'assistant.yaml'}:1: {problem}"


def test_one_agent_may_be_asked_and_handed_over_to(folder: Path) -> None:
    (folder / "web.yaml").write_text(GOOD.replace("id: assistant", "id: web").replace("main: true", "main: false"))
    (folder / "assistant.yaml").write_text(GOOD + "sub_agents: [web]\nhandoffs: [web]\n")
    assert [handoff.agent for handoff in AgentFiles.load(folder).default_main().handoffs] == ["web"]


def test_deep_nesting_is_a_problem_of_the_file_and_of_nothing_else(tmp_path: Path) -> None:
    [problem] = problems(tmp_path / "agent.yaml", "id: " + "[" * 20_000)
    assert problem.startswith("1: ")


def test_a_folder_without_agents_is_named(tmp_path: Path) -> None:
    with pytest.raises(AgentFileError, match="no agent files"):
        AgentFiles.load(tmp_path)
    with pytest.raises(AgentFileError, match="no agent files"):
        AgentFiles.load(tmp_path / "missing")


def test_one_of_several_main_agents_has_to_be_chosen(folder: Path) -> None:
    (folder / "b.yaml").write_text(GOOD.replace("id: assistant", "id: b"))
    (folder / "c.yaml").write_text(GOOD.replace("id: assistant", "id: c").replace("main: true", "main: false"))
    with pytest.raises(AgentFileError, match="assistant, b"):
        AgentFiles.load(folder)
    assert AgentFiles.load(folder, default_main="b").default_main().id == "b"
    for unfit in ("c", "nobody"):
        with pytest.raises(AgentFileError):
            AgentFiles.load(folder, default_main=unfit)
    assert [agent.id for agent in AgentFiles.load(folder, "b").all()] == ["assistant", "b", "c"]


@pytest.mark.parametrize(
    ("locale", "expected"),
    [(None, "Wait."), ("en-GB", "Wait."), ("de", "Warten."), ("de-AT", "Warten."), ("fr", "Wait.")],
)
def test_a_sentence_is_said_in_the_nearest_language(locale: str | None, expected: str) -> None:
    agent = AgentDefinition(
        id="a",
        name="A",
        description="A.",
        system_prompt="A.",
        sentences={"en": {"wait": "Wait."}, "de": {"wait": "Warten."}},
    )
    assert agent.sentence("wait", locale) == expected
    assert agent.sentence("unknown", locale) is None


@given(st.text())
def test_any_text_is_an_agent_or_an_error_with_its_line(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_text(text, encoding="utf-8", newline="")
    with pytest.raises(AgentFileError, match=r"any\.yaml:\d+: "):
        load_agent(path)
