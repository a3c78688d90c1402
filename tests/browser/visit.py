"""A browser, and a page of it under watch."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

PATIENCE_MS: Final = 60_000
"""What takes a moment may take long where everybody wants the processor."""
expect.set_options(timeout=PATIENCE_MS)
PICTURES: Final = os.environ.get("MOORAGE_PICTURES", "")
"""Where pictures of what tests look at are kept, if anywhere."""
SIZES: Final = {"phone": (390, 844), "laptop": (1366, 768), "wall": (2560, 1440)}


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


@contextmanager
def served(*words: str) -> Iterator[str]:
    """The address of the dashboard of a `moorage` command, for as long as the block lasts."""
    with subprocess.Popen(
        [sys.executable, "-m", "moorage", *words, "--http-port", "0"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        found = (re.search(r"http://\S+/dashboard/", line) for line in process.stderr)
        try:
            yield next(each.group() for each in found if each)
        finally:
            process.terminate()


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

    def picture(self, name: str) -> None:
        """Keep what is seen at every size and in both themes, where MOORAGE_PICTURES says."""
        if not PICTURES:
            return
        Path(PICTURES).mkdir(parents=True, exist_ok=True)
        for size, (width, height) in SIZES.items():
            self.page.set_viewport_size({"width": width, "height": height})
            for theme in ("light", "dark"):
                self.page.emulate_media(color_scheme=theme)
                self.page.wait_for_timeout(300)
                self.page.screenshot(path=f"{PICTURES}/{name}-{size}-{theme}.png", full_page=True)
