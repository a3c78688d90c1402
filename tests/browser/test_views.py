"""Each view of a simulated cluster of 5,000 nodes: filters, deep links, keyboard, copies, sizes."""

import re
from typing import Final

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.visit import Visit

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
PHONE: Final = 390
TITLES: Final = {
    "/cluster": "5,000 nodes",
    "/cluster?as=table&by=pool": "page 1 of 50",
    "/queue": "Pods that wait",
    "/pod/ml/huge-0": "ml/huge-0",
    "/decisions": "attempts a second",
    "/compare": "Compare",
    "/health": "Health",
}


@pytest.mark.parametrize(("view", "told"), TITLES.items())
def test_a_view_opens_by_its_address(simulated: str, visit: Visit, view: str, told: str) -> None:
    page = visit.page
    page.goto(f"{simulated}#{view}")
    expect(page.get_by_text(told).first).to_be_visible()
    page.wait_for_load_state("load")

    assert visit.complaints == []
    assert visit.strangers(simulated) == []


@pytest.mark.parametrize("view", TITLES)
def test_a_phone_needs_no_sideways_scroll(
    simulated: str, context: BrowserContext, view: str
) -> None:
    page = context.new_page()
    page.set_viewport_size({"width": PHONE, "height": 844})
    page.goto(f"{simulated}#{view}")
    expect(page.get_by_text(TITLES[view]).first).to_be_visible()

    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE


def test_the_keyboard_goes_from_tile_to_tile_and_opens_a_node(simulated: str, page: Page) -> None:
    page.goto(f"{simulated}#/cluster")
    expect(page.get_by_text("5,000 nodes")).to_be_visible()
    page.locator("canvas").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "Enter"):
        page.keyboard.press(key)

    panel = page.get_by_role("complementary", name="Node")
    expect(panel.get_by_role("heading", level=2)).to_have_text(re.compile(r"^node-\d{4}$"))
    name = panel.get_by_role("heading", level=2).inner_text()
    assert f"node={name}" in page.url
    expect(page.locator("canvas")).to_be_focused()
    expect(panel).to_contain_text("Room")
    panel.get_by_role("button", name="Close").click()
    expect(panel).to_be_hidden()


def test_the_keyboard_picks_a_band_of_the_legend(simulated: str, page: Page) -> None:
    page.goto(f"{simulated}#/cluster")
    bands = page.get_by_role("slider", name="Nodes by how much they have")
    bands.focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("button", name="all again")).to_be_visible()
    assert "band=0" in page.url
    page.keyboard.press("ArrowRight")
    expect(bands).not_to_have_attribute("aria-valuenow", "0")
    page.keyboard.press("Escape")

    expect(page.get_by_role("button", name="all again")).to_be_hidden()


def test_a_click_on_a_tile_opens_the_node_under_it(simulated: str, page: Page) -> None:
    page.goto(f"{simulated}#/cluster?by=none")
    expect(page.get_by_text("5,000 nodes")).to_be_visible()
    page.locator("canvas").click(position={"x": 20, "y": 32})

    panel = page.get_by_role("complementary", name="Node")
    expect(panel.get_by_role("heading", level=2)).to_have_text("node-0000")


def test_the_table_has_the_nodes_of_the_tiles(simulated: str, page: Page) -> None:
    page.goto(f"{simulated}#/cluster")
    page.get_by_role("button", name="Table").click()
    expect(page.get_by_text("5,000 nodes, page 1 of 50")).to_be_visible()
    page.get_by_role("button", name="Pods").click()
    page.get_by_role("button", name="Pods").click()

    first = page.get_by_role("row").nth(1)
    expect(first.get_by_role("cell").nth(3)).not_to_have_text("0")
    page.get_by_label("Part of a node's name").fill("node-499")
    expect(page.get_by_text("10 nodes, page 1 of 1")).to_be_visible()
    assert "sort=pods" in page.url
    assert "q=node-499" in page.url


def test_filters_of_the_queue_are_in_the_address(simulated: str, page: Page) -> None:
    page.goto(f"{simulated}#/queue")
    pods = page.get_by_role("table", name="Pods that wait")
    expect(pods.get_by_role("link")).to_have_count(8)
    page.get_by_role("button", name="active").first.click()
    expect(page.get_by_text("No pod waits here.")).to_be_visible()
    assert "state=active" in page.url
    page.go_back()
    expect(pods.get_by_role("link")).to_have_count(8)
    page.get_by_label("Part of a pod's name").fill("huge-3")

    expect(pods.get_by_role("link")).to_have_count(1)
    shared = page.context.new_page()
    shared.goto(page.url)
    expect(shared.get_by_role("table", name="Pods that wait").get_by_role("link")).to_have_count(1)
    expect(shared.get_by_label("Part of a pod's name")).to_have_value("huge-3")


def test_a_pod_tells_why_it_waits(simulated: str, page: Page) -> None:
    page.goto(f"{simulated}#/queue")
    page.get_by_role("link", name="ml/huge-0").click()

    expect(page.get_by_role("heading", name="ml/huge-0")).to_be_visible()
    expect(page.get_by_text("5000 Insufficient cpu").first).to_be_visible()


def test_a_placed_pod_shows_its_scores(simulated: str, page: Page) -> None:
    page.goto(f"{simulated}#/pod/shop/web-7")

    expect(page.get_by_role("img", name=re.compile("NodeResourcesFit: "))).not_to_have_count(0)
    expect(page.get_by_text("scheduled", exact=True).first).to_be_visible()


def test_decisions_are_filtered(simulated: str, page: Page) -> None:
    page.goto(f"{simulated}#/decisions")
    rows = page.get_by_role("table", name="Decisions").locator("tbody tr")
    expect(rows).to_have_count(128)
    page.get_by_label("Result").select_option("unschedulable")
    expect(rows).to_have_count(8)
    page.get_by_label("pod", exact=True).fill("ml/huge-5")

    expect(rows).to_have_count(1)
    assert "result=unschedulable" in page.url


def test_commands_and_json_are_copied(simulated: str, context: BrowserContext, page: Page) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{simulated}#/pod/ml/huge-0")
    page.get_by_role("button", name="Copy kubectl").click()

    expect(page.get_by_text("Copied kubectl describe pod -n ml huge-0")).to_be_visible()
    copied = "navigator.clipboard.readText()"
    assert page.evaluate(copied) == "kubectl describe pod -n ml huge-0"
    page.get_by_role("button", name="Copy JSON").click()
    expect(page.get_by_text("Copied JSON")).to_be_visible()
    assert '"pod": "ml/huge-0"' in page.evaluate(copied)


def test_the_theme_is_remembered(simulated: str, page: Page) -> None:
    page.goto(f"{simulated}#/health")
    root = page.locator("html")
    expect(root).to_have_attribute("data-theme", "light")
    page.get_by_role("button", name="Theme").click()
    page.get_by_role("button", name="Theme").click()
    expect(root).to_have_attribute("data-theme", "dark")
    page.reload()

    expect(root).to_have_attribute("data-theme", "dark")


def test_times_are_relative_and_tell_the_moment_on_hover(simulated: str, page: Page) -> None:
    page.goto(f"{simulated}#/queue")

    age = page.locator("time").first
    expect(age).to_have_attribute("title", re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$"))
    expect(age).to_have_text(re.compile(r"^\d+[smhd]"))
