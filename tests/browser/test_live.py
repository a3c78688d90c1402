"""What the page does while the cluster changes, goes away, comes back, and means harm."""

import os
from typing import Final

import pytest
from playwright.sync_api import expect

from tests.browser import stub_answers as answers
from tests.browser.stub_answers import HOSTILE
from tests.browser.stub_dashboard import StubDashboard
from tests.browser.visit import Visit

SECONDS: Final = float(os.environ.get("MOORAGE_BROWSER_SECONDS", "5"))
"""How long changes pour in; ten minutes were measured, CI bears seconds."""
pytestmark = [pytest.mark.browser, pytest.mark.timeout(SECONDS * 3 + 300)]
MEGABYTE: Final = 1 << 20
PHONE: Final = 390
VIEWS: Final = (
    "/cluster?node=node-0007", "/cluster?as=table&q=img", "/cluster?colour=verdict&pod=shop/job-1",
    "/cluster?colour=tenant&by=pool", "/queue", "/pod/shop/job-1", "/decisions", "/compare",
    "/health",
)  # fmt: skip


def test_what_changes_is_shown_without_asking_again(stub: StubDashboard, visit: Visit) -> None:
    stub.changes = 20_000
    page = visit.page
    page.goto(f"{stub.url}#/cluster?as=table&q=node-0042")
    cell = page.get_by_role("row", name="node-0042").get_by_role("cell").nth(4)
    before = cell.inner_text()

    expect(cell).not_to_have_text(before)
    assert sum("api/cluster" in url for url in visit.asked) == 1


def test_a_lost_connection_is_told_and_found_again(stub: StubDashboard, visit: Visit) -> None:
    page = visit.page
    page.goto(f"{stub.url}#/cluster?as=table&q=node-0042")
    expect(page.get_by_role("row", name="node-0042")).to_be_visible()
    expect(page.locator("#link")).to_have_text("live")
    stub.stop()

    expect(page.get_by_role("alert")).to_contain_text("connection to the scheduler is lost")
    expect(page.get_by_role("row", name="node-0042")).to_be_visible()
    stub.cluster["nodes"]["pods"][42] = 77
    stub.start()
    expect(page.get_by_role("alert")).to_be_hidden()
    expect(page.get_by_role("row", name="node-0042")).to_contain_text("77")


def test_health_names_the_leader_and_when_its_lease_ends(stub: StubDashboard, visit: Visit) -> None:
    visit.page.goto(f"{stub.url}#/health")
    leader = visit.page.get_by_role("region", name="Leader")

    expect(leader.locator("dt")).to_have_count(5)
    facts = zip(leader.locator("dt").all(), leader.locator("dd").all(), strict=True)
    assert {name.inner_text(): value.inner_text() for name, value in facts} == {
        "this process": "sched-1",
        "leads": "yes",
        "holder of the lease": HOSTILE,
        "lease": "kube-system/moorage",
        "lease ends in": "13s",
    }


@pytest.mark.parametrize("view", VIEWS)
def test_names_that_mean_harm_are_text(stub: StubDashboard, visit: Visit, view: str) -> None:
    page = visit.page
    page.goto(f"{stub.url}#{view}")
    expect(page.get_by_text(HOSTILE).first).to_be_attached()

    assert page.evaluate("window.harmed") is None
    assert page.locator("main img").count() == 0
    assert visit.complaints == []
    assert visit.strangers(stub.url) == []


@pytest.mark.parametrize("view", ["/cluster", "/decisions"])
def test_a_thousand_changes_a_second_leave_no_trace(
    stub: StubDashboard, visit: Visit, view: str
) -> None:
    stub.changes = 1000
    page = visit.page
    page.goto(f"{stub.url}#{view}")
    expect(page.locator("#link")).to_have_text("live")
    if view == "/decisions":
        expect(page.locator("tbody tr")).to_have_count(200)
    page.wait_for_timeout(2000)
    memory = _Memory(visit)
    began, nodes = memory.used(), memory.nodes()
    page.wait_for_timeout(SECONDS * 1000)

    grown, more = memory.used() - began, memory.nodes() - nodes
    print(f"{view}: {began / MEGABYTE:.1f} MB, and {grown / MEGABYTE:+.2f} MB in {SECONDS:.0f} s,")
    print(f"{stub.sent} changes, {more:+.0f} nodes of the document")
    assert stub.sent >= 1000 * SECONDS
    assert grown < 2 * MEGABYTE
    assert more < 500
    assert page.locator("tbody tr").count() <= 200
    assert visit.complaints == []


def test_a_frame_draws_once_and_only_what_is_in_view(stub: StubDashboard, visit: Visit) -> None:
    page = visit.page
    page.add_init_script(_COUNTED_FRAMES)
    page.goto(f"{stub.url}#/cluster")
    expect(page.get_by_text("5,000 nodes")).to_be_visible()
    page.locator("canvas").hover()
    page.keyboard.down("Control")
    for _ in range(40):
        page.mouse.wheel(0, -40)
    page.keyboard.up("Control")
    page.evaluate("window.frames_ = []")
    for _ in range(20):
        page.mouse.wheel(0, 30)
    page.wait_for_function("window.frames_.length > 0")

    frames = page.evaluate("window.frames_")
    assert max(each["draws"] for each in frames) == 1
    assert max(each["tiles"] for each in frames) < 1000


_COUNTED_FRAMES: Final = """
window.frames_ = [];
let frame = {at: -1};
const fill = CanvasRenderingContext2D.prototype.fillRect;
CanvasRenderingContext2D.prototype.fillRect = function (x, y, width, height) {
  if (width === this.canvas.clientWidth) frame.draws++;
  else frame.tiles++;
  fill.call(this, x, y, width, height);
};
const plain = window.requestAnimationFrame.bind(window);
window.requestAnimationFrame = (call) => plain((at) => {
  if (at !== frame.at) frame = {at, draws: 0, tiles: 0};
  call(at);
  if (frame.draws && window.frames_.at(-1) !== frame) window.frames_.push(frame);
});
"""


class _Memory:
    """What a page holds once its garbage is gone."""

    def __init__(self, visit: Visit) -> None:
        self._session = visit.page.context.new_cdp_session(visit.page)
        self._session.send("Performance.enable")

    def used(self) -> float:
        self._session.send("HeapProfiler.collectGarbage")
        return self._metric("JSHeapUsedSize")

    def nodes(self) -> float:
        """The least of a few looks: rows that were replaced meanwhile are not collected yet."""
        return min(self._nodes() for _ in range(5))

    def _nodes(self) -> float:
        self._session.send("HeapProfiler.collectGarbage")
        return self._metric("Nodes")

    def _metric(self, name: str) -> float:
        found = self._session.send("Performance.getMetrics")["metrics"]
        return float(next(each["value"] for each in found if each["name"] == name))


@pytest.mark.parametrize("view", ["/pod/shop/job-1", "/cluster?as=table&q=aaaa", "/cluster?node=A"])
def test_names_as_long_as_they_may_be_fit_on_a_phone(
    stub: StubDashboard, visit: Visit, view: str
) -> None:
    """A node's name has up to 253 characters, a label's value 63; neither need have a hyphen."""
    name, zone = ".".join(each * 62 for each in "abcd"), "z" * 63
    stub.cluster["nodes"]["name"][0], stub.cluster["nodes"]["zone"][0] = name, zone
    told = answers.pod({"ns": "shop", "name": "job-1"})
    for change in told["explanation"]["changes"]:
        change["node"] = name
    page = visit.page
    page.route("**/api/pod/**", lambda route: route.fulfill(json=told))
    page.set_viewport_size({"width": PHONE, "height": 844})
    page.goto(f"{stub.url}#{view.replace('A', name)}")
    expect(page.get_by_text(name).first).to_be_visible()
    widest = page.evaluate("Math.max(...[...document.querySelectorAll('main *')]"
                           ".filter((each) => !each.closest('.skip, caption, thead'))"
                           ".map((each) => each.getBoundingClientRect().right))")  # fmt: skip

    assert widest <= PHONE
