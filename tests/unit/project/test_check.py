"""`baton check`."""

from __future__ import annotations

import json
import shutil

import pytest
import typer

from baton_project.check import Problem, check_agents
from baton_project.commands import check
from baton_project.new import IN_PYTHON
from baton_project.project import Project
from tests.unit.project.conftest import edit
from tests.unit.project.misspelt import MISSPELT

TOOLS = "tools:\n  - type: python"


def test_a_new_project_lacks_nothing(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    check(project.folder, as_json=False)
    assert capsys.readouterr().out == "2 agents, no problems.\n"


@pytest.fixture
def coded(project: Project) -> Project:
    """The same project with its agents in Python."""
    shutil.rmtree(project.agents)
    shutil.rmtree(project.tools)
    shutil.copytree(IN_PYTHON, project.folder, dirs_exist_ok=True)
    return project


def test_a_new_project_in_python_lacks_nothing_and_has_the_same_agents(coded: Project) -> None:
    assert check_agents(coded) == (["assistant", "orders"], [])


def test_problems_of_modules_are_reported_like_those_of_files(coded: Project) -> None:
    edit(coded.agents / "assistant.py", "    main=True,", "    main=3,")
    _, [problem] = check_agents(coded)
    assert (problem.file, problem.line, problem.field) == ("agents/assistant.py", 34, "main")


@pytest.mark.parametrize(
    ("written", "misspelt", "line", "what"),
    [
        ("    main=True,", "    mian=True,", 34, "mian: Agent has no such argument (did you mean main?)"),
        ("@tool\n", "@tool(aproval='always')\n", 8, "aproval: tool has no such argument (did you mean approval?)"),
        (
            "    main=True,",
            "    main=True, handoffs=[Handoff('x', mode='full')],",
            34,
            "mode: Handoff has no such argument",
        ),
        ("    main=True,", "    main=True, workflow=Workflow('x', [], titel='X'),", 34, "titel: Workflow has no such"),
    ],
)
def test_a_misspelt_argument_is_reported_with_the_one_that_it_resembles(
    coded: Project, written: str, misspelt: str, line: int, what: str
) -> None:
    file = coded.agents / "assistant.py"
    edit(file, "from baton import Agent", "from baton import Handoff, Workflow, Agent")
    edit(file, written, misspelt)
    _, [problem] = check_agents(coded)
    assert (problem.file, problem.line) == ("agents/assistant.py", line)
    assert f"{problem.field}: {problem.message}".startswith(what)


def test_a_misspelt_argument_in_a_package_of_tools_is_explained_too(project: Project) -> None:
    file = project.tools / "shop_tools" / "orders.py"
    file.write_text(f"import baton\n\n\n@baton.tool(discription='x')\ndef f(): ...\n\n\n{file.read_text()}")
    _, [problem] = check_agents(project)
    assert (
        "orders.py:4: TypeError: discription: tool has no such argument (did you mean description?)" in problem.message
    )


def test_folders_of_documents_and_procedures_belong_to_agents(project: Project) -> None:
    for path in ("documents/order/a.md", "documents/nobody/a.md", "documents/b.md", "procedures/assistent/x.md"):
        file = project.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("text")
    _, problems = check_agents(project)
    assert list(map(str, problems)) == [
        "documents/b.md: it belongs to no agent; move it into a folder with the id of one",
        "documents/nobody: there is no agent 'nobody' (name the folder by the id of one)",
        "documents/order: there is no agent 'order' (did you mean orders?)",
        "procedures/assistent: there is no agent 'assistent' (did you mean assistant?)",
    ]


def test_problems_are_sorted_by_file_and_line(project: Project) -> None:
    edit(project.agents / "orders.yaml", "id: orders", "id: orders\nmian: true\nnmae: x")
    edit(project.agents / "assistant.yaml", "main: true", "main: 3")
    _, problems = check_agents(project)
    assert [(problem.file, problem.field) for problem in problems] == [
        ("agents/assistant.yaml", "main"),
        ("agents/orders.yaml", "mian"),
        ("agents/orders.yaml", "nmae"),
    ]


def test_a_tool_in_the_background_that_acts_for_the_user_is_reported(project: Project) -> None:
    tool = {
        "type": "http",
        "name": "make_report",
        "description": "Makes a report.",
        "url": "https://a.example/reports",
        "background": {},
        "headers": {
            "Authorization": {
                "token_exchange": {
                    "token_url": "https://login.example/token",
                    "client_id": "baton",
                    "client_secret": {"secret": "baton/login"},
                    "audience": "https://a.example",
                }
            }
        },
    }
    http = f"tools:\n  - {json.dumps(tool)}\n  - type: python"
    edit(project.agents / "orders.yaml", TOOLS, http)
    _, [problem] = check_agents(project)
    assert (problem.file, problem.field) == ("agents/orders.yaml", "tools.0")
    assert problem.message.startswith("background does not work with token_exchange")


def test_a_function_that_cannot_be_a_tool_is_reported_with_its_line(coded: Project) -> None:
    edit(coded.agents / "assistant.py", "number: str)", "number: object, other)")
    _, [problem] = check_agents(coded)
    assert (problem.file, problem.line) == ("agents/assistant.py", 8)
    assert "order_status: the parameter other has no type" in problem.message


def test_a_question_for_approval_that_names_no_argument_is_reported_with_its_line(coded: Project) -> None:
    edit(coded.agents / "assistant.py", "@tool\n", "@tool(approval='always', asks='Find {nubmer}?')\n")
    _, [problem] = check_agents(coded)
    assert (problem.file, problem.line) == ("agents/assistant.py", 8)
    assert problem.message == MISSPELT


def test_a_workflow_whose_data_does_not_fit_the_tool_that_completes_it_is_reported(coded: Project) -> None:
    (coded.agents / "returns.py").write_text(RETURNS)
    _, [*problems] = check_agents(coded)
    assert [(problem.file, problem.line, problem.field) for problem in problems] == [
        ("agents/returns.py", 29, "workflow.on_complete")
    ] * 3
    assert sorted(problem.message.partition(". The")[0] for problem in problems) == [
        "file needs the argument 'damage', but the workflow can end without PHOTO.damage",
        "file needs the argument 'reason', which no state collects",
        "file takes integer as the argument 'number', but ORDER.number is string",
    ]


def test_a_refusal_to_a_state_that_does_not_exist_is_reported(coded: Project) -> None:
    returns = RETURNS.replace("number: int, damage: str, reason: str", "number: str")
    returns = returns.replace('return "Filed."', 'return Refuse("Too late.", state="ODER")')
    (coded.agents / "returns.py").write_text(returns.replace("import Agent,", "import Agent, Refuse,"))
    _, [problem] = check_agents(coded)
    assert problem.message == (
        "file refuses to the state 'ODER', which does not exist (did you mean ORDER?). "
        "It goes to the state before the end instead."
    )


def test_placeholders_of_sentences_that_nothing_fills_are_reported(coded: Project) -> None:
    sentences = {
        "completed": "{number}: {result}",
        "main_confirms": "{resullt} of {date}",
        "busy": "{agent} waits for {sesion}.",
        "exit": "Until {date}.",
    }
    returns = RETURNS.replace("number: int, damage: str, reason: str", "number: str")
    returns = returns.replace("    prompt=", f"    sentences={{'en': {sentences}}},\n    prompt=")
    (coded.agents / "returns.py").write_text(returns)
    _, problems = check_agents(coded)
    assert {(problem.file, problem.field, problem.message) for problem in problems} == {
        ("agents/returns.py", "sentences.en.main_confirms", "nothing fills {resullt} (did you mean {result}?)"),
        (
            "agents/returns.py",
            "sentences.en.main_confirms",
            "nothing fills {date} (available: {damage}, {number}, {result})",
        ),
        ("agents/returns.py", "sentences.en.busy", "nothing fills {sesion} (did you mean {session}?)"),
        ("agents/returns.py", "sentences.en.exit", "nothing fills {date} (available: none)"),
    }


def test_placeholders_that_name_no_value_of_an_object_are_reported(coded: Project) -> None:
    completed = "{order.number}, {order.nmber}, {order}, {damage.part}"
    (coded.agents / "returns.py").write_text(with_sentences(completed=completed, exit="{agent.name} is gone."))
    _, problems = check_agents(coded)
    assert sorted((str(problem.field), problem.message) for problem in problems) == [
        ("sentences.en.completed", "nothing fills {damage.part}, which is no field of damage (available: none)"),
        ("sentences.en.completed", "nothing fills {order.nmber}, which is no field of order (did you mean number?)"),
        (
            "sentences.en.completed",
            "nothing fills {order}, which is an object: name one of its fields, such as {order.number}",
        ),
        ("sentences.en.exit", "nothing fills {agent.name} (available: none)"),
    ]


def test_placeholders_that_a_functions_result_never_fills_are_reported(coded: Project) -> None:
    completed = "{result.number}, {result.nmber}, {result}"
    (coded.agents / "returns.py").write_text(with_sentences(completed=completed))
    _, problems = check_agents(coded)
    assert sorted((str(problem.field), problem.message) for problem in problems) == [
        (
            "sentences.en.completed",
            "nothing fills {result.nmber}, which is no field of result (did you mean number?). "
            "The sentence is not said until then.",
        ),
        (
            "sentences.en.completed",
            "nothing fills {result}, which is an object: name one of its fields, such as {result.number}. "
            "The sentence is not said until then.",
        ),
    ]


def with_sentences(**sentences: str) -> str:
    """Return an agent whose workflow collects an object, and whose tool returns one or refuses."""
    returns = RETURNS.replace("int, damage: str, reason: str) -> str", "str, damage: str) -> Filed | Refuse")
    returns = returns.replace("number: str, damage", "order: Number, damage").replace(
        "import Agent,", "import Agent, Refuse,"
    )
    returns = returns.replace('return "Filed."', 'return Filed(number="R-7")')
    returns = returns.replace("class Order(BaseModel):\n    number: str", NUMBERED)
    returns = returns.replace(
        "collects=Order", "collects={'type': 'object', 'required': ['order'], 'properties': {'order': ORDER}}"
    )
    returns = returns.replace(', transitions=["photo", "done"]', "")
    return returns.replace("    prompt=", f"    sentences={{'en': {sentences}}},\n    prompt=")


NUMBERED = """\
class Number(BaseModel):
    number: str


ORDER = Number.model_json_schema()


class Filed(BaseModel):
    number: str"""


def test_labels_of_values_that_do_not_exist_are_reported(coded: Project) -> None:
    kind = "Annotated[Literal['city', 'ebike'], Field(json_schema_extra={'x-labels': {'ebyke': 'e-bike'}})]"
    file = coded.agents / "assistant.py"
    edit(file, "number: str)", f"number: {kind})")
    file.write_text("from typing import Annotated, Literal\nfrom pydantic import Field\n" + file.read_text())
    _, [problem] = check_agents(coded)
    assert "x-labels: 'ebyke' is not a value of the argument number (did you mean ebike?)" in problem.message


def test_agents_tools_and_states_of_the_demo_script_that_do_not_exist_are_reported(project: Project) -> None:
    script = project.folder / "demo.yaml"
    script.write_text(
        "scenes:\n  message:\n"
        "    - {agent: asistant, say: Hello.}\n"
        "    - {agent: nobody, say: Hello.}\n"
        "    - {state: DONE, call: {order_stat: {}}}\n"
        "    - {says: map, call: {show_map: {}}}\n"
        "  result:\n"
        "    - {after: [show_map, order_status, return_to_*], say: Here.}\n"
        "    - {after: order, say: Here.}\n"
    )
    _, problems = check_agents(project)
    assert [str(problem).partition(" Available")[0] for problem in problems] == [
        "demo.yaml:3: scenes.message.0: there is no agent 'asistant' (did you mean assistant?)",
        "demo.yaml:4: scenes.message.1: there is no agent 'nobody'.",
        "demo.yaml:5: scenes.message.2: no agent has a tool 'order_stat' (did you mean order_status?)",
        "demo.yaml:5: scenes.message.2: no workflow has a state 'DONE'.",
        "demo.yaml:9: scenes.result.1: no agent has a tool 'order'.",
    ]
    assert str(problems[1]).endswith("Available: assistant, orders")
    script.write_text("scenes:\n  message:\n    - say: 135\n")
    _, [problem] = check_agents(project)
    assert problem.message == "must be text: put it into quotes"


RETURNS = '''\
from pydantic import BaseModel

from baton import Agent, State, Workflow, tool


class Order(BaseModel):
    number: str


class Photo(BaseModel):
    damage: str


@tool
def file(number: int, damage: str, reason: str) -> str:
    """File a return."""
    return "Filed."


returns = Agent(
    "returns",
    workflow=Workflow(
        "return",
        [
            State("order", "The order", collects=Order, transitions=["photo", "done"]),
            State("photo", "A photo", collects=Photo),
            State("done", "Done", final=True),
        ],
        on_complete=file,
    ),
    prompt="Take it back.",
)
'''


def test_a_function_that_nobody_can_call_is_reported_with_its_line(coded: Project) -> None:
    file = coded.agents / "assistant.py"
    lines = file.read_text().count("\n")
    file.write_text(f"{file.read_text()}\n\n@assistant.prompt\ndef about(weather: str) -> str:\n    return weather\n")
    _, [problem] = check_agents(coded)
    assert (problem.file, problem.line) == ("agents/assistant.py", lines + 3)
    assert (problem.field, problem.message[:38]) == ("about", "nothing fills the parameter weather. A")


def test_a_hook_with_a_parameter_that_nothing_fills_is_reported_with_its_line(coded: Project) -> None:
    file = coded.agents / "assistant.py"
    written = file.read_text()
    file.write_text(written + "\n@assistant.output_guardrail\ndef judge(words: str) -> None: ...\n")
    _, [problem] = check_agents(coded)
    key = ("agents/assistant.py", written.count("\n") + 2, "judge")
    assert (problem.file, problem.line, problem.field) == key
    assert problem.message.startswith("nothing fills the parameter words.")


def test_a_guardrail_at_a_host_that_may_not_be_called_is_reported(project: Project) -> None:
    file = project.agents / "assistant.yaml"
    file.write_text(f"{file.read_text()}guardrails:\n  - {{name: policy, url: 'https://policy.example.com'}}\n")
    _, [problem] = check_agents(project)
    assert (problem.file, problem.field) == ("agents/assistant.yaml", "guardrails.0.url")
    assert "policy.example.com" in problem.message


def test_a_wrong_field_is_reported_with_file_and_line(project: Project) -> None:
    edit(project.agents / "assistant.yaml", "main: true", "mian: true")
    agents, problems = check_agents(project)
    assert agents == []
    assert problems == [Problem("there is no such field (did you mean main?)", "agents/assistant.yaml", 6, "mian")]
    assert str(problems[0]) == "agents/assistant.yaml:6: mian: there is no such field (did you mean main?)"


def test_two_agents_of_one_id_are_reported(project: Project) -> None:
    (project.agents / "second.yaml").write_text((project.agents / "orders.yaml").read_text())
    _, (problem,) = check_agents(project)
    assert (problem.file, problem.line, problem.field) == ("agents/second.yaml", 3, "id")


def test_a_problem_of_no_file_has_no_place(project: Project) -> None:
    (project.agents / "tutor.yaml").write_text("id: tutor\nname: Tutor\ndescription: T\nmain: true\nsystem_prompt: x\n")
    edit(project.folder / "pyproject.toml", 'default_agent = "assistant"', 'default_agent = ""')
    _, [problem] = check_agents(Project.find(project.folder))
    assert (problem.file, problem.line, problem.field) == (None, None, None)
    assert problem.message.startswith("Several agents have `main: true`: set BATON_DEFAULT_AGENT")


def test_all_of_tools_and_servers_and_remote_agents_is_reached(project: Project) -> None:
    (project.tools / "shop_tools" / "broken.py").write_text("1 / 0\n")
    edit(
        project.agents / "orders.yaml",
        TOOLS,
        "tools:\n"
        "  - {type: mcp, name: kitchen, url: 'http://127.0.0.1:9/mcp'}\n"
        "  - {type: openapi, spec: shop.json, operation_id: list}\n"
        "  - {type: python, name: broken, description: D., entry_point: 'shop_tools.broken:f'}\n"
        "  - type: python",
    )
    (project.agents / "partner.yaml").write_text(
        "id: partner\nname: P\ndescription: D.\nremote: {card_url: 'http://127.0.0.1:9/card.json'}\n"
    )
    agents, problems = check_agents(project)
    assert agents == ["assistant", "orders", "partner"]
    assert [(problem.file, problem.field) for problem in problems] == [
        ("agents/orders.yaml", "tools.0"),
        ("agents/orders.yaml", "tools.1"),
        ("agents/orders.yaml", "tools.2"),
        ("agents/partner.yaml", "remote.card_url"),
    ]
    assert "tools/shop_tools/broken.py:1: ZeroDivisionError: division by zero" in problems[2].message


def test_a_model_of_no_provider_is_reported_where_the_deployment_has_no_default_one(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders = project.agents / "orders.yaml"
    orders.write_text(orders.read_text() + "model: {name: bedrock/nova, fallback: [groq/llama-4]}\n")
    monkeypatch.setenv("BATON_CHAT_MODEL", "bedrock/nova")
    monkeypatch.setenv("OPENAI_BASE_URL", "")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "tokenizer")
    _, (problem,) = check_agents(project)
    assert (problem.file, problem.field) == ("agents/orders.yaml", "model.fallback.0")
    assert problem.message.startswith("'groq/llama-4' begins with the name of no provider (bedrock)")


def test_a_program_reads_the_problems_as_json(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    edit(project.agents / "assistant.yaml", "id: assistant", "id: [")
    with pytest.raises(typer.Exit) as exit_info:
        check(project.folder, as_json=True)
    reported = json.loads(capsys.readouterr().out)
    assert (exit_info.value.exit_code, reported["ok"], reported["problems"][0]["file"]) == (
        1,
        False,
        "agents/assistant.yaml",
    )


def test_outside_of_a_project_the_exit_code_is_that_of_wrong_usage(project: Project) -> None:
    with pytest.raises(typer.Exit) as exit_info:
        check(project.folder.parent)
    assert exit_info.value.exit_code == 2


def test_a_file_that_cannot_be_read_is_named_as_the_reason_why_no_agent_was_checked(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(project.agents / "orders.yaml", "id: orders", "id: orders\nmian: true")
    with pytest.raises(typer.Exit):
        check(project.folder, as_json=False)
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "1 problem. agents/orders.yaml must be mended before the agents are checked further."


def test_a_misspelt_agent_of_a_handoff_is_reported_with_the_one_that_it_resembles(project: Project) -> None:
    file = project.agents / "assistant.yaml"
    file.write_text(f"{file.read_text()}handoffs: [oders]\n")
    _, [problem] = check_agents(project)
    assert problem.message == "there is no agent 'oders' (did you mean orders?)"


def test_a_library_that_is_not_there_is_reported_with_the_one_that_it_resembles(project: Project) -> None:
    (project.libraries / "manual").mkdir(parents=True)
    orders = project.agents / "orders.yaml"
    orders.write_text(orders.read_text() + "libraries: [manaul]\n")
    _, [problem] = check_agents(project)
    assert str(problem).endswith("libraries.0: there is no library 'manaul' (did you mean manual?)")
    orders.write_text(orders.read_text().replace("manaul", "manual"))
    assert check_agents(project) == (["assistant", "orders"], [])


def test_what_is_no_library_is_reported(project: Project) -> None:
    (project.libraries / "Our Manual").mkdir(parents=True)
    (project.libraries / "loose.md").write_text("# Loose")
    edit(project.folder / "pyproject.toml", "[tool.baton]", "[tool.baton]\nlibrary_permissions = {terms = 'a:b'}")
    _, problems = check_agents(Project.find(project.folder))
    assert [str(problem).partition(": ")[0] for problem in problems] == [
        "libraries/Our Manual",
        "libraries/loose.md",
        "pyproject.toml",
    ]
    assert "there is no library 'terms'" in str(problems[-1])
