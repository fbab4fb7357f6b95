"""The pages hang together: links lead somewhere, nothing is left out of an index, examples are sound."""

from __future__ import annotations

import re
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from baton.adapters.tokens.embed_keys import EmbedKeys
from baton.adapters.tokens.verifier import JwtVerifier
from baton.domain.tenants.identity import Scope
from tests.unit.docs.pages import ROOT, anchors, block, blocks, links, name, pages
from tests.unit.identity.signing import SECRET, OneSecret

DECISIONS = ROOT / "docs" / "decisions"
EMBED = ROOT / "docs" / "how-to" / "embed-chat.md"


READMES = [page for folder in ("clients", "examples") for page in sorted((ROOT / folder).glob("*/README.md"))]
SOURCES = (
    "benchmarks",
    "baton_deployment",
    "baton_local",
    "baton_project",
    "baton_testing",
    "functions",
    "layers",
    "shared",
)


@pytest.mark.parametrize("page", [*pages(), *READMES], ids=name)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    broken = []
    for link in links(page):
        address, _, anchor = link.partition("#")
        if re.match(r"https?:|mailto:", address):
            continue
        target = (page.parent / address).resolve() if address else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)

    assert broken == []


def test_every_page_that_a_source_file_names_exists() -> None:
    sources = [ROOT / "Makefile", ROOT / "template.yaml", *(p for f in SOURCES for p in (ROOT / f).rglob("*.py"))]
    named = {(path, page) for path in sources for page in re.findall(r"\bdocs/[\w/-]+\.md", path.read_text())}

    assert [f"{name(path)} names {page}" for path, page in sorted(named) if not (ROOT / page).exists()] == []


def test_the_readme_stays_short_and_shows_the_product_and_the_flow() -> None:
    readme = (ROOT / "README.md").read_text()
    assert len(readme.splitlines()) < 200
    assert len(re.findall(r"!\[", readme)) == 2


def test_every_page_of_the_documentation_is_in_its_index() -> None:
    index = ROOT / "docs" / "README.md"
    linked = {(index.parent / link.partition("#")[0]).resolve() for link in links(index)}

    pages_below = {page for page in (ROOT / "docs").rglob("*.md") if page.parent != DECISIONS and page != index}
    assert sorted(map(name, pages_below - linked)) == []


def test_decisions_are_numbered_without_gaps_listed_and_of_one_form() -> None:
    records = sorted(page for page in DECISIONS.glob("*.md") if page.name != "README.md")

    assert [record.name[:4] for record in records] == [f"{number:04d}" for number in range(1, len(records) + 1)]
    listed = [link for link in links(DECISIONS / "README.md") if re.match(r"\d{4}-", link)]
    assert sorted(listed) == [record.name for record in records]
    for record in records:
        text = record.read_text()
        assert re.match(rf"# {int(record.name[:4])}\. .+\n\nStatus: (accepted|superseded)", text), record.name
        headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
        assert headings == ["Context", "Decision", "Consequences"], record.name


def test_pictures_are_sound_and_say_what_they_show() -> None:
    for picture in (ROOT / "docs" / "images").glob("*.svg"):
        root = ElementTree.parse(picture).getroot()  # noqa: S314 - our own file
        names = [child.tag.rpartition("}")[2] for child in root]
        assert {"title", "desc"} <= set(names), picture.name


def test_the_token_that_the_how_to_makes_is_accepted() -> None:
    functions: dict[str, object] = {}
    exec(compile(block(EMBED, "embed_token"), "embed-chat.md", "exec"), functions)  # noqa: S102 - our own page
    keys = OneSecret({"acme-1": {"tenant": "acme", "algorithm": "HS256", "key": SECRET}})

    token = functions["baton_token"]("ada", SECRET)  # type: ignore[operator]
    identity = JwtVerifier(tuple, EmbedKeys(keys, "embed-keys")).verify(token)

    assert identity.scope == Scope("acme", "ada")
    assert 0 < identity.expires_at.timestamp() - time.time() <= 3600


def test_no_page_names_a_machine_or_a_path_outside_the_repository() -> None:
    private = re.compile(r"/(?:home|root|work|tmp|Users)/|localhost:\d{5}")

    assert [name(page) for page in pages() if private.search(page.read_text(encoding="utf-8"))] == []


def test_the_tutorial_in_python_differs_from_that_in_yaml_in_the_agents_only() -> None:
    folder = ROOT / "docs" / "tutorial"
    in_yaml, in_python = folder / "build-an-assistant.md", folder / "build-an-assistant-in-python.md"
    assert re.findall("^## .*", in_yaml.read_text(), re.M) == re.findall("^## .*", in_python.read_text(), re.M)
    about_agents = re.compile("agents/|import Agent")
    others = [
        [item.text.replace(" --python", "") for item in blocks(page) if not about_agents.search(item.text)]
        for page in (in_yaml, in_python)
    ]
    assert others[0] == others[1]
