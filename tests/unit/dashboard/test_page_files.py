"""The page's own files, and the headers that keep what it shows harmless."""

import asyncio
import re
from importlib import resources

import pytest

from moorage.dashboard.dashboard import Dashboard
from moorage.dashboard.page_files import POLICY
from moorage.testing import node
from tests.unit.dashboard.shown import finished, serving


def fetch(path: str, headers: dict[str, str] | None = None) -> tuple[int, dict[str, str], str]:
    dashboard = Dashboard(finished(node("a"), seconds=1).sources)

    async def main() -> tuple[int, dict[str, str], str]:
        async with (
            serving(dashboard) as asker,
            asker.session.get(asker.url + path, headers=headers) as answer,
        ):
            return answer.status, dict(answer.headers), await answer.text()

    return asyncio.run(main())


def test_the_page_may_run_its_own_script_and_nothing_else() -> None:
    status, headers, text = fetch("/dashboard/")

    assert status == 200
    assert headers["Content-Security-Policy"] == POLICY
    assert "unsafe" not in POLICY
    assert "default-src 'none'" in POLICY
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=|style=|https?://", text)


def test_what_has_not_changed_is_not_sent_again() -> None:
    _, headers, _ = fetch("/dashboard/page/app.js")
    again, _, text = fetch("/dashboard/page/app.js", {"If-None-Match": headers["Etag"]})

    assert headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert (again, text) == (304, "")


def test_the_page_is_found_without_its_slash() -> None:
    status, _, text = fetch("/dashboard")

    assert status == 200
    assert "<title>" in text


@pytest.mark.parametrize(
    "name", ["..%2fdashboard.py", "%2e%2e/dashboard.py", "nothing.js", "__init__.py"]
)
def test_no_other_file_is_served(name: str) -> None:
    assert fetch(f"/dashboard/page/{name}")[0] == 404


def test_every_file_of_the_page_is_packaged() -> None:
    folder = resources.files("moorage.dashboard") / "page"

    assert {each.name for each in folder.iterdir()} >= {"index.html", "app.js"}
