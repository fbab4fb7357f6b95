"""The snippets of the documentation, run as a reader would: against a running local cloud, page by page.

A fenced block below ``<!-- test -->`` is run; one below ``<!-- output -->`` holds lines that the page's blocks so far
must have printed, in that order, where ``...`` stands for anything. A page's blocks share one shell and one folder.
``<!-- file: NAME -->`` is a block that the reader saves. ``<!-- program -->`` is a command that the reader leaves
running in another terminal, and ``<!-- prints -->`` has the lines that it prints next. Questions are answered with yes.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from baton_local.engines.process import find_free_port
from baton_local.settings import default_cache_dir
from tests.e2e.cloud import RunningCloud
from tests.e2e.consulting.peers import example_agents, example_server
from tests.environment import DEVELOPERS_ENVIRONMENT
from tests.unit.docs.pages import Block, blocks, name, pages

WRITTEN = "http://127.0.0.1:8080"
PATIENCE_SECONDS = 300
MARKS = ("test", "output", "file", "program", "prints")
TOOLS = Path(__file__).parent
SETTLE = f'[ -z "${{program:-}}" ] || {sys.executable} {TOOLS / "settled.py"} "$BATON_URL" "$PWD"\n'
"""The reader sees in the other terminal that edits were taken over."""

TESTED = [page for page in pages() if any(block.mark == "test" for block in blocks(page))]
FIRST_READ = {"README.md", "docs/tutorial/first-conversation.md"}
"""The pages that are tested with each commit."""


@pytest.fixture(scope="module")
def demo_cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCloud]:
    """The product as ``make run`` starts it, with shorter pauses, and with the example's agents and their server."""
    with example_server() as server:
        agents = example_agents(tmp_path_factory.mktemp("agents"), server)
        with RunningCloud(agents=agents, settings={"BATON_DEMO_DELAY_MS": "5"}) as cloud:
            yield cloud


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=name(page), marks=() if name(page) in FIRST_READ else pytest.mark.nightly)
        for page in TESTED
    ],
)
def test_the_snippets_of_a_page_do_what_it_says(page: Path, demo_cloud: RunningCloud, tmp_path: Path) -> None:
    marked = [block for block in blocks(page) if block.mark in MARKS]
    script = "".join(_as_shell(block) for block in marked)
    environment = _readers_environment(tmp_path)
    if any(block.mark == "program" for block in marked):
        port = find_free_port()
        environment |= {"PORT": str(port), "BATON_URL": f"http://127.0.0.1:{port}"}
        script = f"source {TOOLS / 'program.sh'}\n{script}".replace(WRITTEN, environment["BATON_URL"])
    script = script.replace(WRITTEN, demo_cloud.url).replace(WRITTEN.replace("http", "ws"), demo_cloud.socket_url[:-3])

    finished = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=tmp_path,
        env=environment,
        input="yes\n" * 9,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )

    assert finished.returncode == 0, f"{finished.stdout}\n{finished.stderr}"
    _assert_printed([block for block in marked if block.mark == "output"], finished.stdout, page)


def test_readme_and_tutorials_are_among_the_tested_pages() -> None:
    tutorials = {name(page) for page in pages() if "docs/tutorial/" in name(page)}
    assert len(tutorials) >= 2
    assert {*FIRST_READ, *tutorials} <= set(map(name, TESTED))


def _as_shell(block: Block) -> str:
    match block.mark:
        case "file":
            return f"cat > {block.name} <<'END-OF-FILE'\n{block.text}END-OF-FILE\n"
        case "program":
            return f"begin_program {block.text}\nawait_line 'Baton is running at'\n"
        case "prints":
            return "".join(f"await_line {shlex.quote(line)}\n" for line in block.text.splitlines())
        case "output":
            return ""
    if block.language == "python":
        return f"python3 - <<'END-OF-SNIPPET'\n{block.text}\nEND-OF-SNIPPET\n"
    assert block.language == "bash", f"line {block.line}: no way to run {block.language!r}"
    is_edit = ">" in block.text or "sed -i" in block.text
    return f"{block.text}{SETTLE}" if is_edit else block.text


def _readers_environment(home: Path) -> dict[str, str]:
    """A developer's environment with an empty home, and with the project's Python in front."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{DEVELOPERS_ENVIRONMENT['PATH']}"
    folders = {"XDG_CONFIG_HOME": str(home / ".config"), "BATON_CACHE_DIR": str(default_cache_dir())}
    return {**DEVELOPERS_ENVIRONMENT, **folders, "PATH": path, "PYTHONIOENCODING": "utf-8"}


def _assert_printed(expected: list[Block], output: str, page: Path) -> None:
    position = 0
    for block in expected:
        for line in filter(None, map(str.strip, block.text.splitlines())):
            pattern = ".*?".join(map(re.escape, line.split("...")))
            match = re.compile(pattern).search(output, position)
            assert match, f"{name(page)} promises {line!r} here, but after position {position} there was:\n{output}"
            position = match.end()
