"""The snippets of the documentation, run as a reader would: against a running local cloud, page by page.

A fenced block below ``<!-- test -->`` is run; one below ``<!-- output -->`` holds lines that the page's blocks so far
must have printed, in that order, where ``...`` stands for anything. A page's blocks share one shell and one folder.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.cloud import RunningCloud
from tests.e2e.consulting.peers import example_agents, example_server
from tests.environment import DEVELOPERS_ENVIRONMENT
from tests.unit.docs.pages import Block, blocks, name, pages

WRITTEN = "http://127.0.0.1:8080"
PATIENCE_SECONDS = 300

TESTED = [page for page in pages() if any(block.mark == "test" for block in blocks(page))]


@pytest.fixture(scope="module")
def demo_cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCloud]:
    """The product as ``make run`` starts it, with shorter pauses, and with the example's agents and their server."""
    with example_server() as server:
        agents = example_agents(tmp_path_factory.mktemp("agents"), server)
        with RunningCloud(agents=agents, settings={"BATON_DEMO_DELAY_MS": "5"}) as cloud:
            yield cloud


@pytest.mark.parametrize("page", TESTED, ids=name)
def test_the_snippets_of_a_page_do_what_it_says(page: Path, demo_cloud: RunningCloud, tmp_path: Path) -> None:
    marked = [block for block in blocks(page) if block.mark in ("test", "output")]
    script = "".join(_as_shell(block) for block in marked if block.mark == "test")
    script = script.replace(WRITTEN, demo_cloud.url).replace(WRITTEN.replace("http", "ws"), demo_cloud.socket_url[:-3])

    finished = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=tmp_path,
        env=_readers_environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )

    assert finished.returncode == 0, f"{finished.stdout}\n{finished.stderr}"
    _assert_printed([block for block in marked if block.mark == "output"], finished.stdout, page)


def test_readme_and_tutorial_are_among_the_tested_pages() -> None:
    assert {"README.md", "docs/tutorial/first-conversation.md"} <= set(map(name, TESTED))


def _as_shell(block: Block) -> str:
    if block.language == "python":
        return f"python3 - <<'END-OF-SNIPPET'\n{block.text}\nEND-OF-SNIPPET\n"
    assert block.language == "bash", f"line {block.line}: no way to run {block.language!r}"
    return block.text


def _readers_environment() -> dict[str, str]:
    """A developer's environment, with the project's Python in front."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{DEVELOPERS_ENVIRONMENT['PATH']}"
    return {**DEVELOPERS_ENVIRONMENT, "PATH": path, "PYTHONIOENCODING": "utf-8"}


def _assert_printed(expected: list[Block], output: str, page: Path) -> None:
    position = 0
    for block in expected:
        for line in filter(None, map(str.strip, block.text.splitlines())):
            pattern = ".*?".join(map(re.escape, line.split("...")))
            match = re.compile(pattern).search(output, position)
            assert match, f"{name(page)} promises {line!r} here, but after position {position} there was:\n{output}"
            position = match.end()
