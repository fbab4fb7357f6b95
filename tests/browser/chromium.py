"""A headless Chromium: the machine's own, else the one that Playwright installed."""

from pathlib import Path

from playwright.async_api import Browser, Playwright

SYSTEM_BROWSERS = (Path("/usr/bin/chromium-headless-shell"), Path("/usr/bin/chromium"))
"""In the order of preference: the headless shell, which Playwright prefers too, needs a third of the other's time."""


async def start(playwright: Playwright) -> Browser:
    """Start it. Raises playwright's ``Error`` when there is none."""
    executable = next((path for path in SYSTEM_BROWSERS if path.exists()), None)
    # Containers run as root, where Chromium's own sandbox cannot start.
    return await playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
