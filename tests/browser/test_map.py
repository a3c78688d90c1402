"""What the map and the timeline draw: groups, colours, and time where it passed."""

from typing import Any, Final

import pytest
from playwright.sync_api import Page, expect

from tests.browser.stub_answers import NOW
from tests.browser.stub_dashboard import StubDashboard

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
LEGENDS: Final = {
    "usage": "what is truly used",
    "gpu_fragmentation": "on GPUs that are partly used",
    "cost": "price per hour",
    "zone": "zone-a",
    "tenant": "team-1",
    "verdict&pod=shop/job-1": "node(s) had untolerated taint(s) (TaintToleration)",
}
WRITTEN: Final = """
window.written = new Set();
const plain = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
  window.written.add(text);
  plain.call(this, text, x, y);
};
"""
PIXELS: Final = """
() => {
  const canvas = document.querySelector("canvas");
  const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const seen = new Set();
  for (let at = 0; at < data.length; at += 4) seen.add(data.slice(at, at + 3).join());
  return seen.size;
}
"""


@pytest.mark.parametrize(("way", "told"), LEGENDS.items())
def test_nodes_are_coloured_and_the_legend_says_by_what(
    stub: StubDashboard, page: Page, way: str, told: str
) -> None:
    page.goto(f"{stub.url}#/cluster?colour={way}")

    expect(page.locator(".legend")).to_contain_text(told)
    expect(page.get_by_role("application", name="5,000 nodes coloured by")).to_be_visible()
    page.wait_for_function(f"({PIXELS})() > 3")


@pytest.mark.parametrize(
    ("by", "heads"),
    [
        ("zone", {"zone-a", "zone-b", "zone-c"}),
        ("pool", {f"pool-{each}" for each in range(5)}),
        ("label:example.com/rack", {"rack-1", "rack-2"}),
        ("none", {"all nodes"}),
    ],
)
def test_nodes_are_grouped_under_their_names(
    stub: StubDashboard, page: Page, by: str, heads: set[str]
) -> None:
    page.add_init_script(WRITTEN)
    page.goto(f"{stub.url}#/cluster?by={by}")
    page.wait_for_function("(heads) => heads.every((head) => written.has(head))", arg=list(heads))


def test_the_headline_counts_a_large_node_for_more_than_a_small_one(
    stub: StubDashboard, page: Page
) -> None:
    nodes = stub.cluster["nodes"]
    nodes["cpu"] = [1.0] + [0.0] * 4999
    nodes["cores"] = [4999.0] + [1.0] * 4999

    page.goto(f"{stub.url}#/cluster")

    expect(page.get_by_text("cpu 50%")).to_be_visible()


def test_a_wall_is_written_on_in_larger_letters(stub: StubDashboard, page: Page) -> None:
    page.goto(f"{stub.url}#/queue")
    at_a_desk = _height(page)
    page.set_viewport_size({"width": 3840, "height": 2160})

    assert _height(page) > 1.4 * at_a_desk


def _height(page: Page) -> float:
    box = page.get_by_label("Part of a pod's name").bounding_box()
    assert box is not None
    return box["height"]


def test_the_timeline_leaves_room_where_nothing_was_attempted_and_goes_back_in_time(
    stub: StubDashboard, page: Page
) -> None:
    moments = [NOW - 100, NOW - 99, NOW - 1]
    buckets: list[dict[str, Any]] = [
        {"at": at, "placed": 5, "refused": 1, "p99_ms": 2.0} for at in moments
    ]
    answer = {"items": [], "continue": "", "steps": [], "timeline": buckets,
              "rates": {"per_s": 0.0, "p50_ms": 1.0, "p99_ms": 1.0}}  # fmt: skip
    page.route("**/api/decisions*", lambda route: route.fulfill(json=answer))
    page.goto(f"{stub.url}#/decisions")
    bars = page.locator(".chart .placed")
    expect(bars).to_have_count(3)
    places = [float(bars.nth(each).get_attribute("x") or "") for each in range(3)]
    page.locator(".chart .reach").nth(1).click()

    assert places == pytest.approx([0, 10, 990])
    expect(page).to_have_url(f"{stub.url}#/decisions?at={NOW - 98:.0f}")


@pytest.mark.parametrize(("p99_ms", "told"), [(2.0, 1), (0.0, 0)])
def test_the_timeline_tells_how_late_attempts_were_where_that_is_known(
    stub: StubDashboard, page: Page, p99_ms: float, told: int
) -> None:
    """A recording that is played back does not know."""
    buckets = [{"at": NOW - at, "placed": 5, "refused": 1, "p99_ms": p99_ms} for at in (100, 99)]
    answer = {"items": [], "continue": "", "steps": [], "timeline": buckets,
              "rates": {"per_s": 0.0, "p50_ms": p99_ms, "p99_ms": p99_ms}}  # fmt: skip
    page.route("**/api/decisions*", lambda route: route.fulfill(json=answer))
    page.goto(f"{stub.url}#/decisions")
    expect(page.locator(".chart .placed")).to_have_count(2)

    assert page.locator(".key.late").count() == told
