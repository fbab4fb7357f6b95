"""Scripts of the guides that pages of tests run."""

from __future__ import annotations

import re

from baton_local.root import ROOT


def card_script() -> str:
    """The script of the page's own card for an approval."""
    guide = (ROOT / "docs" / "how-to" / "approve-tool-calls.md").read_text(encoding="utf-8")
    [script] = re.findall(r"```js\n(.*?)```", guide, re.DOTALL)
    return script
