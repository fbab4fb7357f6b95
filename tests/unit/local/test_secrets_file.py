"""A developer's secrets for the local cloud."""

from __future__ import annotations

from pathlib import Path

import pytest

from baton_local.errors import LocalCloudError
from baton_local.project.secrets_file import read_secrets


def write_secrets(folder: Path, text: str) -> Path:
    file = folder / "secrets.local.yaml"
    file.write_text(text)
    return file


def test_values_have_the_names_that_agents_refer_to(tmp_path: Path) -> None:
    assert read_secrets(tmp_path / "none.yaml") == {}
    text = (
        'baton/local/tools/files: "s3cr3t"\n"baton/{stage}/tools/shop": {api_key: k1}\n/baton/local/tools/bus: "42"\n'
    )
    assert read_secrets(write_secrets(tmp_path, text)) == {
        "baton/local/tools/files": "s3cr3t",
        "baton/local/tools/shop": '{"api_key": "k1"}',
        "/baton/local/tools/bus": "42",
    }


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("baton/local/tools/a: 4711", "must be a text in quotes"),
        ("baton/local/tools/a: [4711]", "must be a text in quotes"),
        ("baton/local/tools/a: {key: 4711}", "must be a text in quotes"),
        ('baton/local/tools/a: ""', "must be a text in quotes"),
        ("baton/model-key: sk-4711", "the local cloud's own"),
        ('baton/local/tools/a: "4711', "secrets.local.yaml:"),
        ("- 4711", "must be a mapping"),
    ],
)
def test_a_wrong_line_is_named_and_no_value_quoted(tmp_path: Path, line: str, problem: str) -> None:
    with pytest.raises(LocalCloudError, match=r"secrets\.local\.yaml:[123]: ") as refused:
        read_secrets(write_secrets(tmp_path, f"# mine\n{line}\n"), {"baton/model-key"})
    assert problem in str(refused.value)
    assert "4711" not in str(refused.value)
