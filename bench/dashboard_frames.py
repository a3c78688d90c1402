"""How long the dashboard's map of 5,000 nodes takes to draw a frame, while it is zoomed and moved.

.venv/bin/python bench/dashboard_frames.py [--width 1440] [--height 900]

One JSON line, in milliseconds: `draw` is the page's own work for a frame (60 frames a second leave
it 16.7), `gap` the time between frames, the browser's own drawing included, and `late` the part of
frames that missed a beat of 60 a second: without a graphics card and beside other work they say
more of the machine than of the page.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.browser.stub_dashboard import StubDashboard
from tests.browser.visit import launched

TIMED = """
window.frames_ = [];
const plain = window.requestAnimationFrame.bind(window);
window.requestAnimationFrame = (call) => plain((at) => {
  const began = performance.now();
  call(at);
  window.frames_.push(performance.now() - began);
});
"""
TURNS = """
async () => {
  const canvas = document.querySelector("canvas");
  const {x, y} = canvas.getBoundingClientRect();
  const turn = (deltaY, ctrlKey) => new WheelEvent("wheel", {
    deltaY, ctrlKey, clientX: x + 400, clientY: y + 300, bubbles: true, cancelable: true});
  const share = (list, part) => [...list].sort((a, b) => a - b)[Math.floor(list.length * part)];
  const run = async (turns, made) => {
    window.frames_ = [];
    const gaps = [];
    let last = performance.now();
    for (let each = 0; each < turns; each++) {
      canvas.dispatchEvent(made(each));
      await new Promise((done) => requestAnimationFrame(done));
      gaps.push(performance.now() - last);
      last = performance.now();
    }
    return {draw_p50: share(window.frames_, 0.5), draw_p99: share(window.frames_, 0.99),
            gap_p50: share(gaps, 0.5), gap_p99: share(gaps, 0.99),
            late: gaps.filter((each) => each > 1.5 * 16.7).length / gaps.length};
  };
  const zoom = await run(300, (each) => turn(each % 100 < 50 ? -30 : 30, true));
  await run(10, () => turn(-200, true));
  const scroll = await run(300, (each) => turn(each % 60 < 30 ? 25 : -25, false));
  return {zoom, scroll};
}
"""


def measure(page: Page, url: str) -> dict[str, Any]:
    page.add_init_script(TIMED)
    page.goto(f"{url}#/cluster")
    page.wait_for_selector("text=5,000 nodes")
    found: dict[str, dict[str, float]] = page.evaluate(TURNS)
    return {name: {key: round(ms, 2) for key, ms in of.items()} for name, of in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--width", type=int, default=1440)
    parser.add_argument("--height", type=int, default=900)
    given = parser.parse_args()
    stub = StubDashboard()
    stub.start()
    try:
        with launched() as browser:
            page = browser.new_page(viewport={"width": given.width, "height": given.height})
            print(json.dumps({"nodes": 5000, "width": given.width, **measure(page, stub.url)}))
    finally:
        stub.stop()


if __name__ == "__main__":
    main()
