"""Violations of accessibility rules on a page."""

from __future__ import annotations

from playwright.async_api import Page

from baton_local import web


async def violations(page: Page) -> list[str]:
    """Return the problems that axe finds in the widget."""
    await page.evaluate((web.SOURCES / "node_modules" / "axe-core" / "axe.min.js").read_text())
    result = await page.evaluate("axe.run('baton-chat')")
    return [
        f"{violation['id']}: {node['target']} {node['failureSummary']}"
        for violation in result["violations"]
        for node in violation["nodes"]
    ]
