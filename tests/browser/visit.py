"""A browser, and a page of it under watch."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

PATIENCE_MS: Final = 60_000
"""What takes a moment may take long where everybody wants the processor."""
expect.set_options(timeout=PATIENCE_MS)


@contextmanager
def launched() -> Iterator[Browser]:
    """Debian's Chromium; until it is closed its thread has a running event loop."""
    found = shutil.which("chromium") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("no chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


class Visit:
    """A page under watch: what it complains of, and whom it asks."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.asked: list[str] = []
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))

    def _said(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def strangers(self, home: str) -> list[str]:
        """Addresses it asked that are not the dashboard's."""
        return [url for url in self.asked if not url.startswith((home, "data:"))]
