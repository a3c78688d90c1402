"""The page of a comparison in a browser."""

from pathlib import Path

import pytest
from playwright.sync_api import Page

from moorage.simulate.comparison import compare
from moorage.simulate.report.page import document, kpi_table
from moorage.simulate.scenario_run import RunResult

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


def test_numbers_are_in_sight_beside_long_names_of_configurations(
    page: Page, tmp_path: Path
) -> None:
    names = ("today", "a-" + "very-long-" * 7 + "name", "b" * 90)
    found = compare(
        "a week", "1", {name: [RunResult(1, {"cost": 1.0, "pods": 2})] for name in names}
    )
    file = tmp_path / "report.html"
    file.write_text(document("a week", [kpi_table(found, [("cost", "cost")])]))
    page.set_viewport_size({"width": 1366, "height": 768})
    page.goto(file.as_uri())

    assert page.evaluate("(([each]) => each.scrollWidth - each.clientWidth)"
                         "(document.querySelectorAll('.scroll'))") == 0  # fmt: skip
