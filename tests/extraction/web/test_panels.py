"""Parts of web pages that a reader opens are read, with the name of their control in front."""

from __future__ import annotations

from pathlib import Path

import pytest

from baton_documents.html import page as html_page

PAGES = Path(__file__).parents[1] / "files" / "pages"


def texts(html: str | bytes) -> list[str]:
    return [block.text for block in html_page.extract(html.encode() if isinstance(html, str) else html).blocks]


def test_all_tabs_of_an_installation_guide_are_read() -> None:
    assert texts((PAGES / "tabs.html").read_bytes()) == [
        "Install",
        "Linux:",
        "Run install.sh as root.",
        "Windows:",
        "Run setup.exe as administrator.",
        "Use brew on macOS.",
    ]


def test_an_expanding_section_and_the_ticks_of_a_wiki_page_are_read() -> None:
    read = texts((PAGES / "confluence.html").read_bytes())
    assert read[read.index("Steps for macOS") + 1] == "Install profile 77 first."
    assert {"☑ Token ordered", "☐ Token collected"} <= set(read)


OPENED = {
    "an accordion": ('<h3><button aria-expanded="false" aria-controls="p">More</button></h3><div id=p hidden>x</div>', ["More", "x"]),
    "a bare button": ('<button aria-expanded="false">More</button><div style="display:none">x</div>', ["More:", "x"]),
    "a heading's next element": ('<h3><a aria-expanded="false">More</a></h3><div hidden>x</div>', ["More", "x"]),
    "a collapse of Bootstrap": ('<a data-bs-toggle="collapse" href="#p">More</a><div id=p style="display:none">x</div>', ["More", "x"]),
    "a target of Bootstrap": ('<button data-toggle="collapse" data-target="#p">More</button><p id=p hidden>x</p>', ["More:", "x"]),
    "tabs that name their panels": (
        "<div role=tablist><a role=tab aria-controls=a>A</a><a role=tab aria-controls=b>B</a></div>"
        "<div role=tabpanel id=b hidden>x</div><div role=tabpanel id=a>y</div>",
        ["B:", "x", "A:", "y"],
    ),
    "a panel that names its tab": (
        "<div role=tablist><div role=tab id=t>A</div></div><div role=tabpanel aria-labelledby=t hidden>x</div>",
        ["A:", "x"],
    ),
    "a panel without visibility": ("<button aria-expanded=false aria-controls=p>M</button><p id=p style='visibility:hidden'>x</p>", ["M:", "x"]),
    "a panel hidden by a sheet": ("<style>.c{display:none}</style><button aria-expanded=false>M</button><p class=c>x</p>", ["M:", "x"]),
    "a label for screens only": ('<button aria-expanded=false aria-label="More" aria-controls=p><svg/></button><p id=p hidden>x</p>', ["More:", "x"]),
    "a box with a role": ("<span role=checkbox aria-checked=true>x</span><p><span role=switch>y</span>", ["☑ x", "☐ y"]),
}  # fmt: skip


@pytest.mark.parametrize(("html", "expected"), OPENED.values(), ids=OPENED)
def test_a_control_opens_a_part_of_the_page(html: str, expected: list[str]) -> None:
    assert texts(f"<main>{html}</main>") == expected


NOT_OPENED = {
    "a menu of the site": "<header><button aria-expanded=false aria-controls=p>Menu</button><div id=p hidden>secret</div></header>",
    "a dialog": "<button aria-haspopup=dialog aria-expanded=false aria-controls=p>Share</button><div id=p hidden>secret</div>",
    "a list of choices": "<input role=combobox aria-expanded=false aria-controls=p><ul id=p hidden><li>secret</ul>",
    "a dialog without a word about it": "<a aria-expanded=false aria-controls=p>a</a><div id=p role=dialog hidden>secret</div>",
    "hidden text in a panel": "<button aria-expanded=false aria-controls=p>M</button><div id=p hidden><p hidden>secret</p></div>",
    "a panel in hidden text": "<div hidden><button aria-expanded=false aria-controls=p>M</button><p id=p hidden>secret</p></div>",
    "hidden text elsewhere": "<button aria-expanded=false aria-controls=p>M</button><p id=p hidden>x</p><p hidden>secret</p>",
}  # fmt: skip


@pytest.mark.parametrize("html", NOT_OPENED.values(), ids=NOT_OPENED)
def test_other_hidden_text_stays_out(html: str) -> None:
    assert "secret" not in "\n".join(texts(f"<body>{html}</body>"))


@pytest.mark.parametrize(
    "control", ["<div role=tab>", "<button aria-expanded=false aria-controls=x>", "<div role=tablist>"]
)
def test_a_page_of_controls_is_read(control: str) -> None:
    assert texts(f"<main>{control * 200}<p>x</p></main>") is not None


def test_comments_behind_many_controls_are_not_counted_for_each_of_them() -> None:
    controls = "<button aria-expanded=false>M</button>" * 2_000
    assert "x" in "".join(texts(f"<main><div>{controls}</div>{'<!---->' * 100_000}<p>x</p></main>"))


def test_a_panel_behind_a_few_texts_and_comments_is_found() -> None:
    html = "<button aria-expanded=false>M</button> <!-- a --> <!-- b --> <div hidden>panel</div>"
    assert "panel" in "\n".join(texts(f"<main>{html}</main>"))
