"""What is wrong with a script is told with file and line, all at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from local.demo_model.app import SCRIPT, create_app
from local.demo_model.script import Script, ScriptError


def problems(folder: Path, script: str) -> list[str]:
    """What is told of a script, without its folder."""
    path = folder / "script.yaml"
    path.write_text(script, encoding="utf-8")
    with pytest.raises(ScriptError) as told:
        Script.read(path)
    return str(told.value).replace(f"{path}:", "").splitlines()


MESSAGE = "scenes:\n  message:\n"


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("scenes: [", "1: expected the node content"),
        ("- say: x", "1: the file must be a mapping of fields"),
        ("values: {}", "1: scenes: Field required"),
        ("scenes: {}", "1: scenes: there is no scene 'message', where every turn begins"),
        (f"{MESSAGE}    - says: x", "3: scenes.message.0: the rule does nothing: give it say, call or next"),
        (f"{MESSAGE}    - say: x\n      sais: y", "4: scenes.message.0.sais: Extra inputs are not permitted"),
        (f"{MESSAGE}    - say: x\n      says: '(y'", "4: scenes.message.0.says: missing ), unterminated subpattern"),
        (f"{MESSAGE}    - say: '{{{{ x'", "3: scenes.message.0.say: unexpected end of template"),
        (f"{MESSAGE}    - say: '{{{{ nmae }}}}'", "3: scenes.message.0.say: there is no variable nmae"),
        (f"{MESSAGE}    - say: x\n      if: 1 +", "4: scenes.message.0.if: unexpected"),
        (f"{MESSAGE}    - call:\n        t: {{a: [1, '{{{{ b }}}}']}}", "4: scenes.message.0.call.t.a.1: there is no"),
        (f"{MESSAGE}    - next: gone", "3: scenes.message.0.next: there is no scene 'gone'"),
        (f"{MESSAGE}    - next: a\n  a:\n    - next: a", "4: scenes.a: the scene leads back to itself"),
    ],
)
def test_a_mistake_is_told_with_its_place(tmp_path: Path, script: str, told: str) -> None:
    [problem] = problems(tmp_path, script)
    assert problem.startswith(told)


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    told = problems(tmp_path, f"{MESSAGE}    - say: '{{{{ x }}}}'\n    - next: gone\n      says: '['")
    assert [problem.split(":")[0] for problem in told] == ["3", "5", "4"]


def test_a_file_that_is_missing_is_told(tmp_path: Path) -> None:
    with pytest.raises(ScriptError, match=r"gone\.yaml:1: .*No such file"):
        create_app({"BATON_DEMO_SCRIPT": str(tmp_path / "gone.yaml")})


def test_the_script_that_ships_is_whole() -> None:
    assert "message" in Script.read(SCRIPT).scenes
