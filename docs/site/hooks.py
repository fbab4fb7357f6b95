"""Adds to mkdocs for the site of docs/: its menu, links to files outside docs/, and llms.txt."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
INDEX = "README.md"
BESIDE = "beside"
"""The site's folder for files that pages link to and that are not in docs/."""
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<goal>[^()\s]+)\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Make the menu from the index page, so that there is one list of pages."""
    menu: list[Any] = [{"Home": INDEX}]
    for section, pages in _index():
        menu.append({section: [{title: goal} for title, goal in pages]})
    config.nav = menu
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the files beside docs/ that pages link to."""
    expected = {path for file in files.documentation_pages() for path in _outside(file)}
    for path in sorted(expected):
        if (ROOT / path).is_file():
            files.append(File.generated(config, f"{BESIDE}/{path}.txt", abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links that leave docs/ lead to the copies; a folder has none, so its link becomes its name."""

    def rewritten(link: re.Match[str]) -> str:
        path = _beside(page.file.src_uri, link["goal"])
        if path is None:
            return link[0]
        if path == INDEX:
            goal = INDEX
        elif (ROOT / path).is_file():
            goal = f"{BESIDE}/{path}.txt"
        else:
            return f"{link['text']} (`{path}`)"
        return f"[{link['text']}]({posixpath.relpath(goal, posixpath.dirname(page.file.src_uri) or '.')})"

    pieces, at = [], 0
    for fence in FENCE.finditer(markdown):
        pieces += [LINK.sub(rewritten, markdown[at : fence.start()]), fence[0]]
        at = fence.end()
    return "".join([*pieces, LINK.sub(rewritten, markdown[at:])])


def on_post_build(*, config: MkDocsConfig) -> None:
    """Write llms.txt (llmstxt.org), the list of pages for programs, and llms-full.txt, the pages themselves."""
    site, docs = Path(config.site_dir), Path(config.docs_dir)
    lines, whole = ["# Baton", "", f"> {config.site_description}", ""], []
    for section, pages in _index():
        lines += [f"## {section}", ""]
        for title, goal in pages:
            text = (docs / goal).read_text()
            lines.append(f"- [{title}]({goal})")
            whole.append(f"<!-- {goal} -->\n\n{text}")
            copy = site / goal
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(text)
        lines.append("")
    (site / "llms.txt").write_text("\n".join(lines))
    (site / "llms-full.txt").write_text("\n\n".join(whole))


def _index() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the sections of the index page with the titles and paths of their pages."""
    text = (ROOT / "docs" / INDEX).read_text()
    for section, body in re.findall(r"^\*\*(\w[\w ]*)\*\*\n(.*?)(?=^\*\*|\Z)", text, re.MULTILINE | re.DOTALL):
        yield section, re.findall(r"^- \[([^\]]+)\]\(([^)]+\.md)\)", body, re.MULTILINE)


def _outside(file: File) -> Iterator[str]:
    text = FENCE.sub("", file.content_string)
    for link in LINK.finditer(text):
        if path := _beside(file.src_uri, link["goal"]):
            yield path


def _beside(page: str, goal: str) -> str | None:
    """Return the path from the root of what a link of a page leads to; ``None`` if that is in docs/ or elsewhere."""
    goal = goal.partition("#")[0]
    if not goal or "://" in goal or goal.startswith(("mailto:", "/")):
        return None
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), goal))
    return None if path.startswith(("docs/", "..")) else path
