"""Measures how smoothly the widget shows long conversations and answers: ``python -m benchmarks.widget``.

A conversation of 1,000 messages is loaded page by page and scrolled through in a headless Chromium; then an answer of
40,000 tokens of Markdown is streamed into it. The times between frames are taken in the page, which also plays the
server: nothing else runs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.async_api import Page, Route, async_playwright

from baton_local import web
from benchmarks.report import machine, table

ORIGIN = "http://localhost:8080"
SERVER = Path(__file__).with_name("widget_server.js")
CHARACTERS_PER_TOKEN = 4
TOKENS_PER_FRAME = 100
PAGE_SIZE = 50
HTML = f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>Benchmark</title>
<script type="module" src="{ORIGIN}/widget/baton-chat.js"></script>
<style>body {{ margin: 0 }} baton-chat {{ --baton-height: 100dvh }}</style>
<baton-chat mode="inline" endpoint="{ORIGIN}" token="a.b.c" session-id="benchmark"></baton-chat></html>"""
TYPES = {".js": "text/javascript", ".map": "application/json"}

SECTION = """\
## Section {number}

Every *paragraph* of this part has **some** [links](https://example.com/{number}), `code` and enough words to take three
lines or so on a screen of the usual width, as answers of models do when they explain something at length.

1. The first of two points, with more to say about it
   - than one
   - would think
2. The second one.

| Plan | Price | Since |
| --- | ---: | --- |
| Team | 12 | {number} |
| Company | 40 | {number} |

```python
def section_{number}(text: str) -> str:
    \"\"\"Return the section's text in capitals.\"\"\"
    return text.upper()
```

"""


@dataclass(frozen=True)
class Kind:
    """Something that an answer may consist of."""

    name: str
    head: str
    part: str

    def text(self, tokens: int) -> str:
        """Return the beginning of the answer that has so many tokens."""
        parts = [self.head]
        length = 0
        for number in range(tokens):
            parts.append(self.part.format(number=number))
            length += len(parts[-1])
            if length >= tokens * CHARACTERS_PER_TOKEN:
                break
        return "".join(parts)


KINDS = [
    Kind("sections of prose, lists, tables and code", "", SECTION),
    Kind("one list", "", "- Point {number} of a list that does not end, with `code` and **words** enough for a line\n"),
    Kind(
        "one table",
        "| Number | Name | Words |\n| --- | --- | --- |\n",
        "| {number} | Row | some **words** |\n",
    ),
    Kind("one block of code", "```python\n", "value_{number} = calculate(value_{number} + 1, name='some name')\n"),
    Kind("one paragraph", "", "This is sentence {number} of a paragraph with **strong** words that does not end. "),
]


def conversation(count: int) -> list[dict[str, Any]]:
    """So many stored messages, of questions and answers with Markdown in turn."""

    def stored(number: int) -> dict[str, Any]:
        role = "assistant" if number % 2 else "user"
        text = SECTION.format(number=number) if number % 2 else f"Question {number}: what about this?"
        about = {"ordinal": number, "runId": f"run-{number // 2}", "status": "complete"}
        return {"id": f"m-{number}", "role": role, "content": text, "metadata": about}

    return [stored(number) for number in range(count)]


async def opened(page: Page, messages: int) -> None:
    """Open the widget on a conversation of so many messages; the newest page of them is shown."""
    given = json.dumps({"messages": conversation(messages), "pageSize": PAGE_SIZE})
    await page.add_init_script(f"window.given = {given};")
    await page.add_init_script(path=SERVER)

    async def answer(route: Route) -> None:
        path = route.request.url.removeprefix(ORIGIN).split("?")[0]
        file = web.BUILT / path.removeprefix("/widget/")
        if path == "/":
            await route.fulfill(body=HTML, content_type="text/html")
        elif path.startswith("/widget/") and file.is_file():
            await route.fulfill(body=file.read_bytes(), content_type=TYPES.get(file.suffix, "text/plain"))
        else:
            await route.fulfill(status=404)

    await page.route(f"{ORIGIN}/**", answer)
    await page.goto(ORIGIN)
    await shown(page, min(messages, PAGE_SIZE))


async def shown(page: Page, messages: int) -> None:
    """Wait until so many messages are there, the last one with its Markdown."""
    there = f"document.querySelector('baton-chat')?.shadowRoot?.querySelectorAll('article').length >= {messages}"
    await page.wait_for_function(there)
    await page.wait_for_timeout(300)


async def load_all(page: Page, messages: int) -> None:
    """Scroll up until all messages are there."""
    scroll = "document.querySelector('baton-chat').shadowRoot.querySelector('.scroller').scrollTop = {}"
    for count in range(PAGE_SIZE, messages, PAGE_SIZE):
        await page.evaluate(scroll.format(0))
        await shown(page, min(count + PAGE_SIZE, messages))
    await page.evaluate(scroll.format("1e9"))
    await page.wait_for_timeout(300)


SCROLL = """async () => {
  const box = document.querySelector("baton-chat").shadowRoot.querySelector(".scroller");
  const frames = window.frames();
  for (let at = box.scrollHeight; at > 0; at -= 600) {
    box.scrollTop = at;
    await new Promise(requestAnimationFrame);
  }
  const times = frames.stop();
  box.scrollTop = box.scrollHeight;
  return times;
}"""
STREAM = """async ([text, slicing]) => {
  const frames = window.frames();
  const changes = window.changes();
  const took = await window.stream(text, slicing);
  await new Promise((resolve) => setTimeout(resolve, 200));
  return { took, times: frames.stop(), ...changes.stop() };
}"""


async def streamed(page: Page, text: str, every_ms: int) -> dict[str, Any]:
    """Stream an answer; the times of frames, the number of slices, and what changed in the page."""
    slicing = {"characters": TOKENS_PER_FRAME * CHARACTERS_PER_TOKEN, "everyMs": every_ms}
    result: dict[str, Any] = await page.evaluate(STREAM, [text, slicing])
    return result


def row(name: str, times: list[float], *counts: float) -> list[str]:
    """Return a line of the table."""
    ordered = sorted(times)
    at = [statistics.median(ordered), ordered[int(len(ordered) * 0.95)], ordered[int(len(ordered) * 0.99)], ordered[-1]]
    return [name, str(len(times)), *(f"{value:.1f}" for value in at), *(f"{count:.1f}" for count in counts)]


async def measure(options: argparse.Namespace, chromium: str | None) -> list[list[str]]:
    """Run everything; the lines of the table."""
    rows: list[list[str]] = []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for kind in KINDS:
            if options.only not in kind.name:
                continue
            page = await browser.new_page(viewport={"width": 1000, "height": 800})
            await opened(page, options.messages)
            await load_all(page, options.messages)
            if not rows:
                name = f"scrolling through {options.messages} messages"
                rows.append([*row(name, await page.evaluate(SCROLL)), "", "", ""])
            done = await streamed(page, kind.text(options.tokens), options.every)
            took = done["took"]
            slices = len(took)
            counts = [statistics.median(took), done["nodes"] / slices, done["messages"] / slices]
            rows.append(row(kind.name, done["times"], *counts))
            await page.close()
        await browser.close()
    return rows


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=1000)
    parser.add_argument("--tokens", type=int, default=40_000)
    parser.add_argument("--every", type=int, default=100, help="milliseconds between slices of 100 tokens")
    parser.add_argument("--only", default="", help="answers whose name has this in it")
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    options = parser.parse_args()
    web.build()
    chromium = options.chromium if Path(options.chromium).exists() else None
    rows = asyncio.run(measure(options, chromium))
    print(machine())
    times = ["frames", "median ms", "p95 ms", "p99 ms", "longest ms"]
    heads = ["", *times, "script ms per slice", "nodes per slice", "messages drawn per slice"]
    print(table(heads, rows))


if __name__ == "__main__":
    main()
