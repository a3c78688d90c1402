"""Every view in both themes, judged by axe."""

from typing import Any, Final, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.stub_dashboard import StubDashboard
from tests.browser.test_live import VIEWS

pytestmark = [pytest.mark.browser, pytest.mark.timeout(400)]
EVERYTHING: Final[dict[str, Any]] = {}
CONTRAST: Final[dict[str, Any]] = {"runOnly": ["color-contrast"]}


@pytest.mark.parametrize(
    ("theme", "rules"),
    [
        pytest.param("light", EVERYTHING, id="by day, every rule"),
        pytest.param("dark", CONTRAST, id="by night, where only colours differ, contrast"),
    ],
)
def test_axe_finds_nothing(
    stub: StubDashboard, page: Page, theme: Literal["light", "dark"], rules: dict[str, Any]
) -> None:
    page.emulate_media(color_scheme=theme)
    found: list[str] = []
    for view in VIEWS:
        page.goto("about:blank")
        page.goto(f"{stub.url}#{view}")
        expect(page.locator("#link")).to_have_text("live")
        page.wait_for_timeout(300)
        for each in Axe().run(page, options=rules).response["violations"]:
            places = [node["html"][:120] for node in each["nodes"][:3]]
            found.append(f"{view}: {each['id']}: {places}")

    assert found == []


def test_axe_finds_nothing_where_a_token_is_asked_for(stub: StubDashboard, page: Page) -> None:
    page.route("**/api/about", lambda route: route.fulfill(status=403, body="Forbidden"))
    page.goto(stub.url)
    page.get_by_label("Bearer token").fill("no token")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert").get_by_text("This is no token")).to_be_visible()
    page.get_by_text("How to come by a token").click()

    assert Axe().run(page).response["violations"] == []
