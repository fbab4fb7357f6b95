"""Agents as YAML files: everything that can be wrong is named with its file, line and field."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from baton.adapters.agents.agent_files import AgentFileError, AgentFiles, read_agent
from baton.domain.agents.agent import AgentDefinition
from baton_local.root import ROOT

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
    """The problems of a file with ``text``, a line each, without the path."""
    path.write_text(text)
    with pytest.raises(AgentFileError) as refusal:
        read_agent(path)[1]
    return [line.removeprefix(f"{path}:") for line in str(refusal.value).splitlines()]


def problems_of(folder: Path) -> list[str]:
    """The problems of the files of a folder, a line each, without the folder's path."""
    with pytest.raises(AgentFileError) as refusal:
        AgentFiles.load(folder)
    return [line.removeprefix(f"{folder}/") for line in str(refusal.value).splitlines()]


def specialist(agent_id: str) -> str:
    """The file of an agent that is not main."""
    return GOOD.replace("id: assistant", f"id: {agent_id}").replace("main: true\n", "")


def test_the_agents_of_this_repository_are_good() -> None:
    shipped_agents = AgentFiles.load(ROOT / "agents")
    assert shipped_agents.get_default_main().id == "assistant"
    assert shipped_agents.get("assistant") in shipped_agents.all()
    assert shipped_agents.get("nobody") is None


@pytest.mark.parametrize("folder", ["agents", "examples/agents", "baton_project/skeleton/agents"])
def test_agents_that_ship_ask_for_no_parameter_that_a_model_may_refuse(folder: str) -> None:
    set_by_agents = {
        name
        for path in (ROOT / folder).glob("*.yaml")
        for name in (yaml.safe_load(path.read_text(encoding="utf-8")).get("model") or {})
    }
    assert set_by_agents <= {"timeout_seconds"}


def test_what_is_left_out_has_its_default(folder: Path) -> None:
    agent = read_agent(folder / "assistant.yaml")[1]
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
        (GOOD + "workflow:\n", 6, "workflow"),
        (GOOD + "sentences:\n  en:\n    busy: Wait.\n    conecting: Hello.\n", 9, "sentences.en.conecting"),
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
        read_agent(tmp_path / "agent.yaml")[1]


def test_every_problem_of_a_file_is_reported_at_once(tmp_path: Path) -> None:
    reported = problems(tmp_path / "agent.yaml", "id: X\nname: A\nmemory:\n  relevance_floor: 7\nextra: 1\n")
    assert [line.rpartition(": ")[0].split(": ")[:2] for line in reported] == [
        ["1", "id"],
        ["1", "description"],
        ["1", "system_prompt"],
        ["4", "memory.relevance_floor"],
        ["5", "extra"],
    ]


def test_the_problems_of_all_files_are_reported_at_once(folder: Path) -> None:
    (folder / "b.yaml").write_text("id: b\n")
    (folder / "c.yaml").write_text("nonsense")
    with pytest.raises(AgentFileError) as refusal:
        AgentFiles.load(folder)
    reported = str(refusal.value)
    assert "b.yaml:1: name" in reported
    assert "c.yaml:1" in reported
    assert "assistant.yaml" not in reported


def test_two_files_cannot_define_one_agent(folder: Path) -> None:
    (folder / "copy.yaml").write_text(GOOD)
    with pytest.raises(AgentFileError, match=r"copy\.yaml:1: id: .*'assistant'"):
        AgentFiles.load(folder)


@pytest.mark.parametrize(
    ("named", "line", "problem"),
    [
        ("sub_agents: [nobody]", 6, "sub_agents.0: there is no agent 'nobody'"),
        ("sub_agents:\n  - web-x\n  - nobody", 8, "sub_agents.1: there is no agent 'nobody'"),
        ("sub_agents:\n  - web-x\n  - assistant", 8, "sub_agents.1: 'assistant' cannot ask itself"),
        ("sub_agents: [web-x, web_x]", 6, "sub_agents.1: 'web-x' and 'web_x' would have the same tool's name"),
        ("handoffs: [nobody]", 6, "handoffs.0: there is no agent 'nobody'"),
        ("handoffs:\n  - web-x\n  - {agent: nobody}", 8, "handoffs.1: there is no agent 'nobody'"),
        ("handoffs:\n  - agent: web-x\n  - agent: nobody", 8, "handoffs.1: there is no agent 'nobody'"),
        ("handoffs: [web-x, web_x]", 6, "handoffs.1: 'web-x' and 'web_x' would have the same tool's name"),
    ],
)
def test_agents_that_agents_name_must_be_there_and_differ(folder: Path, named: str, line: int, problem: str) -> None:
    for other in ("web-x", "web_x"):
        (folder / f"{other}.yaml").write_text(specialist(other))
    (folder / "assistant.yaml").write_text(f"{GOOD}{named}\n")
    assert problems_of(folder) == [f"assistant.yaml:{line}: {problem}"]


@pytest.mark.parametrize(("first", "second"), [("book train", "Book  TRAIN!"), ("(?i)trips?", "(?i)trips?")])
def test_two_agents_that_one_hands_over_to_share_no_trigger(folder: Path, first: str, second: str) -> None:
    (folder / "rail.yaml").write_text(specialist("rail") + f"triggers: [ticket, '{first}']\n")
    (folder / "travel.yaml").write_text(specialist("travel") + f"triggers: [book hotel, '{second}']\n")
    (folder / "assistant.yaml").write_text(GOOD + "handoffs:\n  - rail\n  - agent: travel\n")
    assert problems_of(folder) == [
        f"assistant.yaml:8: handoffs.1: 'travel' has the trigger '{second}', and so has 'rail', "
        "which would always be chosen"
    ]


def test_agents_that_different_agents_hand_over_to_may_share_a_trigger(folder: Path) -> None:
    for other in ("rail", "travel"):
        (folder / f"{other}.yaml").write_text(specialist(other) + "triggers: [book train]\n")
    (folder / "assistant.yaml").write_text(GOOD + "handoffs: [rail]\n")
    (folder / "second.yaml").write_text(GOOD.replace("id: assistant", "id: second") + "handoffs: [travel]\n")
    assert len(AgentFiles.load(folder, "assistant").all()) == 4


def test_an_agent_that_is_not_main_may_hand_over_for_it_can_lead_a_fork(folder: Path) -> None:
    (folder / "rail.yaml").write_text(specialist("rail") + "handoffs: [assistant]\n")
    assert len(AgentFiles.load(folder).all()) == 2


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("main: true\nremote: {card_url: 'https://agents.example.com'}\n", "a conversation cannot begin with"),
        ("handoffs: [other, other]\n", "two of the handoffs are to 'other'"),
        ("triggers: ['.*']\n", "the trigger '.*' matches nearly every message"),
        ("exit_words: {en: ['!']}\n", "an exit word has 1 to 40"),
        ("workflow:\n  name: x\n  states: [{name: A, label: A, final: true}]\n", "a workflow has at least two"),
    ],
)
def test_a_problem_is_reported_in_plain_words(tmp_path: Path, fields: str, expected: str) -> None:
    [problem] = problems(tmp_path / "agent.yaml", GOOD.replace("main: true\n", "") + fields)
    assert problem.split(": ", 2)[2].startswith(expected)


def test_a_misspelt_sentence_is_reported_with_the_known_ones_and_every_other_problem(tmp_path: Path) -> None:
    reported = problems(
        tmp_path / "agent.yaml", GOOD + "colour: red\nsentences:\n  en: {conecting: Hello.}\nworkflow: ~\n"
    )
    assert [line.split(": ")[:2] for line in reported] == [
        ["6", "colour"],
        ["9", "workflow"],
        ["8", "sentences.en.conecting"],
    ]
    assert "connecting" in reported[2].partition("there are ")[2].split(", ")


def test_one_agent_may_be_asked_and_handed_over_to(folder: Path) -> None:
    (folder / "web.yaml").write_text(GOOD.replace("id: assistant", "id: web").replace("main: true", "main: false"))
    (folder / "assistant.yaml").write_text(GOOD + "sub_agents: [web]\nhandoffs: [web]\n")
    assert [handoff.agent for handoff in AgentFiles.load(folder).get_default_main().handoffs] == ["web"]


def test_deep_nesting_is_a_problem_of_the_file_and_of_nothing_else(tmp_path: Path) -> None:
    [problem] = problems(tmp_path / "agent.yaml", "id: " + "[" * 20_000)
    assert problem.startswith("1: ")


def test_a_folder_without_agents_is_named(tmp_path: Path) -> None:
    with pytest.raises(AgentFileError, match="no agent files"):
        AgentFiles.load(tmp_path)
    with pytest.raises(AgentFileError, match=r"missing: no agent files .* BATON_AGENTS_DIR"):
        AgentFiles.load(tmp_path / "missing")


def test_the_only_main_agent_is_the_default_whatever_it_is_called(folder: Path) -> None:
    (folder / "assistant.yaml").write_text(GOOD.replace("id: assistant", "id: concierge"))
    (folder / "c.yaml").write_text(GOOD.replace("id: assistant", "id: c").replace("main: true", "main: false"))
    assert AgentFiles.load(folder).get_default_main().id == "concierge"


def test_one_of_several_main_agents_has_to_be_chosen(folder: Path) -> None:
    (folder / "b.yaml").write_text(GOOD.replace("id: assistant", "id: b"))
    (folder / "c.yaml").write_text(GOOD.replace("id: assistant", "id: c").replace("main: true", "main: false"))
    with pytest.raises(AgentFileError, match=r"BATON_DEFAULT_AGENT .*: assistant, b$"):
        AgentFiles.load(folder)
    assert AgentFiles.load(folder, default_main="b").get_default_main().id == "b"
    assert [agent.id for agent in AgentFiles.load(folder, "b").all()] == ["assistant", "b", "c"]


@pytest.mark.parametrize("unfit", ["c", "nobody"])
def test_a_default_that_is_no_main_agent_is_refused_by_its_variable(folder: Path, unfit: str) -> None:
    (folder / "c.yaml").write_text(GOOD.replace("id: assistant", "id: c").replace("main: true", "main: false"))
    with pytest.raises(AgentFileError, match=rf"BATON_DEFAULT_AGENT .*{unfit}.*: assistant$"):
        AgentFiles.load(folder, default_main=unfit)


def test_agents_of_which_none_is_a_main_agent_are_refused(folder: Path) -> None:
    for name in ("assistant", "b"):
        (folder / f"{name}.yaml").write_text(GOOD.replace("id: assistant", f"id: {name}").replace("main: true", ""))
    with pytest.raises(AgentFileError, match=r"`main: true`.*BATON_DEFAULT_AGENT.*: assistant, b$"):
        AgentFiles.load(folder)


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
    assert agent.find_sentence("wait", locale) == expected
    assert agent.find_sentence("unknown", locale) is None


@given(st.text())
def test_any_text_is_an_agent_or_an_error_with_its_line(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_text(text, encoding="utf-8", newline="")
    with pytest.raises(AgentFileError, match=r"any\.yaml:\d+: "):
        read_agent(path)[1]


def test_a_tool_is_found_where_it_is_written(folder: Path) -> None:
    path = folder / "assistant.yaml"
    tool = "  - {type: python, name: NAME, description: Looks., entry_point: shop:look}\n"
    path.write_text(f"{GOOD}\ntools:\n{tool.replace('NAME', 'one')}{tool.replace('NAME', 'two')}")
    files = AgentFiles.load(folder)
    lines = path.read_text().splitlines()
    for number, declared in enumerate(files.get_default_main().tools):
        [line] = [index for index, text in enumerate(lines, 1) if f"name: {declared.name}" in text]
        assert files.find_tool_position(declared) == f"{path}:{line}: tools.{number}"
    assert files.find_tool_position(files.get_default_main().tools[0].model_copy()) is None
