"""Agents in Python: the same definitions as in YAML, and the same errors with the lines of the module."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel
from typing_extensions import TypedDict

from baton import (
    Agent,
    Completion,
    Condition,
    Desk,
    Handoff,
    HttpTool,
    McpServer,
    Model,
    OpenApiTool,
    Refuse,
    State,
    Transition,
    UnusableDefinition,
    Workflow,
    tool,
)
from baton.adapters.agents.agent_files import AgentFileError, AgentFiles
from baton.authoring.agent import NAMES
from baton.domain.agents import tool as tools
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.agent_checks import check_agent
from baton.domain.definition import Definition
from baton.domain.desks.desk import DeskDefinition
from baton.domain.handoffs.completion import Completion as CompletionDefinition
from baton.domain.handoffs.handoff import HandoffDefinition
from baton.domain.handoffs.workflow_definition import Condition as ConditionDefinition
from baton.domain.handoffs.workflow_definition import Transition as TransitionDefinition
from baton.domain.handoffs.workflow_definition import WorkflowDefinition, WorkflowState
from baton_local.root import ROOT

GOOD = """\
from baton import Agent

assistant = Agent("assistant", "You help.", main=True)
"""
FOLDERS = ("agents", "examples/agents", "tests/e2e/agents", "baton_project/skeleton/agents")
FILES = [path for folder in FOLDERS for path in sorted((ROOT / folder).glob("*.yaml"))]


def load(folder: Path, **modules: str) -> AgentFiles:
    """Load a folder of modules."""
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)
    return AgentFiles.load(folder)


def problems(folder: Path, **modules: str) -> list[str]:
    """The problems of modules, a line each, without the folder's path."""
    with pytest.raises(AgentFileError) as refusal:
        load(folder, **modules)
    return str(refusal.value).replace(f"{folder}/", "").splitlines()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_a_file_in_yaml_says_can_be_said_in_python(path: Path) -> None:
    values = yaml.safe_load(path.read_text(encoding="utf-8"))
    expected, result = check_agent(values)
    assert result == []
    assert Agent(**{NAMES.get(name, name): value for name, value in values.items()}).definition == expected


@pytest.mark.parametrize(
    ("function", "definition", "others"),
    [
        (Agent.__init__, AgentDefinition, {"self"}),
        (Handoff, HandoffDefinition, set()),
        (Workflow, WorkflowDefinition, set()),
        (State, WorkflowState, set()),
        (Transition, TransitionDefinition, set()),
        (Condition, ConditionDefinition, set()),
        (Completion, CompletionDefinition, set()),
        (HttpTool, tools.HttpTool, set()),
        (OpenApiTool, tools.OpenApiTool, set()),
        (McpServer, tools.McpServer, set()),
    ],
)
def test_each_field_of_a_definition_is_an_argument(
    function: Callable[..., Any], definition: type[Definition], others: set[str]
) -> None:
    arguments = inspect.signature(function).parameters.keys() - others
    # Agents in Python answer everybody themselves, and belong to a deployment: they have no versions of a tenant.
    not_in_python = {"kind", "desk", "version_policy"} if definition is AgentDefinition else set()
    assert arguments == {NAMES.get(name, name) for name in definition.model_fields} - {"type"} - not_in_python


def test_a_desk_has_the_arguments_that_a_file_has() -> None:
    instance = Desk(
        "support",
        triggers=["talk to a human"],
        permission="desk:support",
        hours={"zone": "Europe/Vienna", "week": {"mon-fri": "09:00-17:00"}, "except": {"2026-12-25": "closed"}},
        closed="queue",
    )
    rules = {
        "permission": "desk:support",
        "hours": {"zone": "Europe/Vienna", "week": {"mon-fri": "09:00-17:00"}, "except": {"2026-12-25": "closed"}},
        "closed": "queue",
    }
    values = {"id": "support", "kind": "desk", "name": "Support", "description": "Support", "desk": rules}
    expected, result = check_agent({**values, "triggers": ["talk to a human"]})
    assert result == []
    assert instance.definition == expected
    assert inspect.signature(Desk).parameters.keys() >= DeskDefinition.model_fields.keys()


def test_the_flaws_of_a_desk_name_its_arguments() -> None:
    with pytest.raises(UnusableDefinition) as refused:
        Desk("support", hours={"zone": "Vienna", "week": {"monday": "9-17"}}, wait_minutes=0)
    lines = [line.partition(": ")[2] for line in str(refused.value).splitlines()]
    assert [line.partition(":")[0] for line in lines] == ["hours.zone", "hours.week", "wait_minutes"]


def test_a_desk_has_no_model() -> None:
    values = {"id": "support", "kind": "desk", "name": "Support", "description": "People.", "tools": [], "mcp": True}
    _, [problem] = check_agent({**values, "system_prompt": "Be nice."})
    assert problem.what == "people answer at a desk: leave `system_prompt`, `mcp` out"


def test_arguments_and_fields_have_the_same_defaults() -> None:
    for function, definition in ((Handoff, HandoffDefinition), (Workflow, WorkflowDefinition), (State, WorkflowState)):
        for name, argument in inspect.signature(function).parameters.items():
            field = definition.model_fields[name]
            if not field.is_required():
                assert argument.default == field.default, f"{function.__name__}: {name}"


def make_agent_with_completion(completion: Any, **fields: Any) -> Agent:
    """Return an agent whose workflow has a state for the order, a skippable one for a photo, and a last one."""
    order = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
    photo = {"type": "object", "properties": {"damage": {"type": "string"}}, "required": ["damage"]}
    states = [
        State("order", "The order", collects=order, transitions=["photo", "agreed"]),
        State("photo", "A photo", collects=photo),
        State("agreed", "Agreeing", transitions=["done"]),
        State("done", "Done", final=True),
    ]
    return Agent("returns", "Take it back.", workflow=Workflow("return", states, on_complete=completion), **fields)


def test_a_function_completes_a_workflow_without_being_among_the_tools() -> None:
    def file(number: int, damage: str = "") -> Refuse:
        """File the return."""
        return Refuse("It is too old.", state="order")

    assert [one.name for one in make_agent_with_completion(file).definition.tools] == ["file"]
    workflow = make_agent_with_completion(
        Completion(file, arguments={"number": "order.number"}, back_to="order")
    ).definition.workflow
    assert workflow is not None
    assert workflow.on_complete is not None
    assert workflow.on_complete.model_dump() == {
        "tool": "file",
        "arguments": {"number": "order.number"},
        "back_to": "order",
    }
    [approved] = make_agent_with_completion("file", tools=[tool(approval="always")(file)]).definition.tools
    assert approved.requires_approval


@pytest.mark.parametrize(
    ("completion", "problem"),
    [
        ("file", "'file' is none of the agent's tools (none): add it to tools"),
        (
            Completion("file", arguments={"number": "size"}),
            "the argument 'number' is size, which no state collects: name a field as state.field, or a state",
        ),
        (
            Completion("file", back_to="done"),
            "back_to is done, which is not a state, or is a final one: name a state that is not final",
        ),
    ],
)
def test_a_workflow_that_cannot_be_completed_is_refused(completion: Any, problem: str) -> None:
    with pytest.raises(UnusableDefinition, match=re.escape(problem)):
        make_agent_with_completion(completion)


def test_a_completion_with_an_argument_that_its_tool_does_not_have_is_refused() -> None:
    schema = {"type": "object", "properties": {"number": {"type": "integer"}}}
    tools = [HttpTool("file", "Files the return.", "https://orders.example/file", method="POST", parameters=schema)]
    with pytest.raises(UnusableDefinition, match="file has no argument 'size': remove it from arguments"):
        make_agent_with_completion(Completion("file", arguments={"size": "number"}), tools=tools)


def test_an_agent_in_python_is_the_agent_that_yaml_declares() -> None:
    faq = Agent("faq", "Answer.", description="Knows the answers.")

    class Answer(BaseModel):
        text: str

    desk = Agent(
        "repair-desk",
        prompt="Repair.",
        main=True,
        model="gpt-large",
        sub_agents=[faq],
        handoffs=[faq, Handoff("buyer", context_mode="recent", reason="The user wants to buy.")],
        output_type=Answer,
        workflow=Workflow(
            "repair",
            [
                State("item", "The item", collects={"type": "object", "properties": {"broken": {"type": "boolean"}}}),
                State("sent", "Sending", transitions=[Transition("done", when=Condition("item.broken", equals=True))]),
                State("done", "Done", final=True),
            ],
        ),
        tools=[HttpTool("find", "Finds.", "https://shop.test/{id}", parameters=object_with("id"))],
        limits={"tool_calls": 3},
    )

    in_yaml = """\
id: repair-desk
name: Repair desk
description: Repair desk
main: true
system_prompt: Repair.
model: {name: gpt-large}
sub_agents: [faq]
handoffs: [faq, {agent: buyer, context_mode: recent, reason: The user wants to buy.}]
workflow:
  name: repair
  states:
    - name: item
      label: The item
      collects: {type: object, properties: {broken: {type: boolean}}}
    - name: sent
      label: Sending
      transitions: [{to: done, when: {field: item.broken, equals: true}}]
    - {name: done, label: Done, final: true}
tools:
  - type: http
    name: find
    description: Finds.
    url: https://shop.test/{id}
    parameters: {type: object, properties: {id: {type: string}}, required: [id]}
limits: {tool_calls: 3}
"""
    expected, result = check_agent({**yaml.safe_load(in_yaml), "answer_schema": Answer.model_json_schema()})
    assert (desk.definition.model_dump(), result) == (expected.model_dump(), [])


def object_with(name: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}


class Row(TypedDict):
    number: int


@dataclass
class Point:
    x: float


class Price(BaseModel):
    euros: Decimal


class Tree(BaseModel):
    children: list[Tree] = []


@pytest.mark.parametrize(
    "kind", [Row, Point, Price, Tree, object_with("number")], ids=["dict", "dataclass", "model", "tree", "schema"]
)
def test_answers_may_have_the_type_of_any_object(kind: Any) -> None:
    schema = Agent("counter", "Count.", output_type=kind).definition.answer_schema
    assert schema is not None
    assert schema["type"] == "object"


def test_a_state_collects_the_fields_of_a_type() -> None:
    collects = State("price", "The price", collects=Price).collects
    assert collects is not None
    assert (list(collects["properties"]), collects["required"]) == (["euros"], ["euros"])


def test_modules_and_files_in_yaml_are_one_set_of_agents(tmp_path: Path) -> None:
    (tmp_path / "faq.yaml").write_text("id: faq\nname: FAQ\ndescription: Knows.\nsystem_prompt: Answer.\n")
    (tmp_path / "_texts.py").write_text('PROMPT = "Answer politely."\n')
    files = load(
        tmp_path,
        desk="from baton import Agent\nfrom ._texts import PROMPT\nfrom .repairs import repairs\n"
        'desk = Agent("desk", PROMPT, main=True, sub_agents=["faq", repairs])\n',
        repairs='from baton import Agent\nrepairs = Agent("repairs", "Repair.", description="Repairs.")\n',
    )
    assert [agent.id for agent in files.all()] == ["desk", "faq", "repairs"]
    assert files.get_default_main().sub_agents == ("faq", "repairs")
    assert files.get_default_main().system_prompt == "Answer politely."
    assert files.find_position(files.get_default_main(), "sub_agents", 1) == f"{tmp_path}/desk.py:4: sub_agents.1"


BAD_FIELDS = """\
from baton import Agent, Model

support = Agent(
    "Support",
    prompt="Help.",
    limits={
        "tool_calls": -1,
    },
    tools=[
        {"type": "http", "name": "find", "description": "Finds.", "url": "ftp://shop.test"},
    ],
    output_type=int,
    sentences={"en": {"nonsense": "Hm."}},
    main=True,
)
"""


def test_every_problem_of_an_agent_is_named_with_its_line(tmp_path: Path) -> None:
    assert problems(tmp_path, support=BAD_FIELDS) == [
        "support.py:12: output_type: int is no object in JSON: name a pydantic model, a dataclass or a TypedDict",
        "support.py:4: id: String should match pattern '^[a-z][a-z0-9_-]{0,40}$'",
        "support.py:7: limits.tool_calls: Input should be greater than or equal to 0",
        "support.py:10: tools.0.url: must be an absolute https URL",
        "support.py:13: sentences.en.nonsense: there is no such sentence; there are "
        + problems_in_yaml("sentences: {en: {nonsense: Hm.}}").partition("there are ")[2],
    ]


def problems_in_yaml(field: str) -> str:
    values = yaml.safe_load(f"id: a\nname: A\ndescription: A.\nsystem_prompt: A.\n{field}\n")
    return check_agent(values)[1][0].what


IMPORTS = "from baton import Agent, Handoff, Model, State, tool\n"
NO_DOCSTRING = "give find a docstring: the model learns from it what the tool does"
NO_AGENT = "no agent is a variable of this module; a file name that begins with _ marks one without agents"
NEIGHBOUR = "No module named 'other'. Modules in agents/ import each other with a dot: from .other import ..."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('agent = Agent("a", "A.", main=True, sub_agents=[\n"nobody"])', "3: sub_agents.0: there is no agent 'nobody'"),
        ('agent = Agent("a", model=Model(\ntemperature=3))', "3: temperature: Input should be less than or equal to 2"),
        ('b = Handoff("b",\ncontext_mode="none")', "3: context_mode: Input should be 'summary', 'recent', 'full' or "),
        ('agent = Agent("a")', "2: prompt: Field required: what the model is told first"),
        ('@tool(approval="sometimes")\ndef find(): ...', "2: approval is 'sometimes'; it is 'never' or 'always'"),
        ("@tool\ndef find(): ...", f"2: {NO_DOCSTRING}"),
        ('def find(): ...\nagent = Agent("a", "A.", tools=[\nfind])', f"4: tools.0: {NO_DOCSTRING}"),
        ('agent = Agent("a", "A.", tools=[\n"find"])', "3: tools.0: 'find' is text: write the function itself,"),
        ("agent = = 1", "2: SyntaxError: invalid syntax"),
        ("agent = nothing", "2: NameError: name 'nothing' is not defined"),
        ("agent = 1", f"1: {NO_AGENT}"),
        (
            's = State("a", "A", collects=int)',
            "2: collects: int is no object in JSON: name a pydantic model, a dataclass",
        ),
        ("raise SystemExit(3)", "2: SystemExit: 3"),
    ],
)
def test_what_cannot_be_used_is_named_with_its_line(tmp_path: Path, text: str, expected: str) -> None:
    [problem] = problems(tmp_path, agent=IMPORTS + text + "\n")
    assert problem.startswith(f"agent.py:{expected}")


def test_modules_of_agents_are_imported_with_a_dot(tmp_path: Path) -> None:
    [problem] = problems(tmp_path, agent="from other import x\n", _other="", other=GOOD)
    assert problem == f"agent.py:1: {NEIGHBOUR}"
    [problem] = problems(tmp_path, agent="from agents.other import x\n")
    assert problem.endswith(NEIGHBOUR.partition(". ")[2])


def test_problems_of_all_files_are_named_at_once(tmp_path: Path) -> None:
    (tmp_path / "faq.yaml").write_text("id: faq\n")
    result = problems(tmp_path, one="1 / 0\n", two="x = y\n")
    assert [line.partition(": ")[0] for line in result[-2:]] == ["one.py:1", "two.py:1"]
    assert result[0].startswith("faq.yaml:1: name: ")


def test_two_agents_with_one_id_are_refused(tmp_path: Path) -> None:
    [problem] = problems(tmp_path, one=GOOD, two="\n" + GOOD)
    assert problem == "two.py:4: id: one.py defines the agent 'assistant' too: give one of them another id"


def test_an_agent_that_others_turn_to_needs_a_description(tmp_path: Path) -> None:
    agents = 'faq = Agent("faq", "Answer.")\nAGENTS = [Agent("desk", "Help.", main=True, sub_agents=[faq])]\n'
    assert problems(tmp_path, desk=IMPORTS + agents) == [
        "desk.py:3: sub_agents.0: 'faq' has no description, from which the model of 'desk' knows when to turn to it"
    ]


@pytest.mark.parametrize(("reason", "count"), [("", 1), (", reason='Things are broken.'", 0)])
def test_the_reason_of_a_handoff_is_enough_of_a_description(tmp_path: Path, reason: str, count: int) -> None:
    agents = f'fix = Agent("fix", "Mend.")\ndesk = Agent("desk", "Help.", main=True, handoffs=[Handoff(fix{reason})])\n'
    module = f"from baton import Agent, Handoff\n\n{agents}"
    if count:
        assert len(problems(tmp_path, desk=module)) == count
    else:
        (tmp_path / "desk.py").write_text(module)
        assert {agent.id for agent in AgentFiles.load(tmp_path).all()} == {"desk", "fix"}


def test_an_agent_that_is_made_elsewhere_names_the_line_of_its_call() -> None:
    with pytest.raises(UnusableDefinition) as refusal:
        Agent("ok", "Help.", model=Model(), triggers_in_session=["("])
    line = inspect.currentframe().f_lineno - 1  # type: ignore[union-attr]
    assert str(refusal.value).startswith(f"{__file__}:{line}: triggers_in_session.0: ")


def test_a_module_is_read_again_as_it_is_now(tmp_path: Path) -> None:
    before = load(tmp_path, assistant=GOOD).get_default_main()
    after = load(tmp_path, assistant=GOOD.replace("You help.", "You assist.")).get_default_main()
    assert (before.system_prompt, after.system_prompt) == ("You help.", "You assist.")


FIND = """\
from baton import Agent, tool

@tool
def find(number: int) -> str:
    "Find it."
    return str(number)

agent = Agent("a", "A.", main=True, tools=[find])
"""


def test_a_function_of_an_agent_is_found_by_what_lists_tools(tmp_path: Path) -> None:
    files = load(tmp_path, agent=FIND)
    [declared] = files.get_default_main().tools
    assert isinstance(declared, tools.PythonTool)
    assert (declared.name, declared.description) == ("find", "Find it.")
    assert declared.function is not None
    assert declared.function(number=7) == "7"
    assert files.find_tool_position(declared) == f"{tmp_path}/agent.py:3"


def test_the_package_loads_nothing_until_a_name_of_it_is_used() -> None:
    script = "import sys, baton; print(len([name for name in sys.modules if name.startswith(('baton.', 'pydantic'))]))"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "0\n"


def test_a_second_function_for_the_prompt_is_refused() -> None:
    agent = Agent("a", "Help.")
    agent.prompt(lambda context: "The first.")
    with pytest.raises(ValueError, match="a has a function for prompt already"):
        agent.prompt(lambda context: "The second.")


def test_a_decorated_function_can_still_be_called() -> None:
    @tool(name="double", description="Doubles.")
    def twice(number: int) -> int:
        return 2 * number

    assert twice(3) == 6
    assert twice.definition.name == "double"
