"""Whether a scheduler that is looked at, and the page that shows it, grow.

.venv/bin/python bench/dashboard_memory.py [--nodes 5000] [--rate 500] [--seconds 600]

One JSON line. Pods come and leave at the rate, each changing its node twice: 500 a second are 1,000
updates. Chromium shows the map, the stream of decisions and the queue in a tab each, and its heaps
are read once their garbage is gone. `mb` are samples over time, `mb_per_minute` the slope through
those of the second half: by then records, notes of the queue and histories are full.
"""

import argparse
import asyncio
import json
import multiprocessing
import statistics
import sys
import time
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Any

from dashboard import LIVED_SECONDS, Arrivals, measure, resident_kilobytes

from moorage.dashboard.dashboard import Dashboard
from moorage.memory.memory_cluster import MemoryCluster
from moorage.scheduler.scheduler import Scheduler

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.browser.visit import launched

EVERY_SECONDS = 20.0
VIEWS = ("cluster", "decisions", "queue")
Sample = tuple[float, float]


def show(url: str, seconds: float, told: "Queue[dict[str, list[Sample]]]") -> None:
    """Show the views in a browser for so long, and tell what their pages held."""
    with launched() as browser:
        sessions = {}
        for view in VIEWS:
            page = browser.new_page()
            page.goto(f"{url}#/{view}")
            sessions[view] = page.context.new_cdp_session(page)
            sessions[view].send("Performance.enable")
        began = time.monotonic()
        heaps: dict[str, list[Sample]] = {view: [] for view in VIEWS}
        while (passed := time.monotonic() - began) < seconds:
            for view, session in sessions.items():
                session.send("HeapProfiler.collectGarbage")
                metrics = session.send("Performance.getMetrics")["metrics"]
                used = next(each["value"] for each in metrics if each["name"] == "JSHeapUsedSize")
                heaps[view].append((passed, used / (1 << 20)))
            page.wait_for_timeout(EVERY_SECONDS * 1000)
        told.put(heaps)


async def watched(
    given: argparse.Namespace,
    cluster: MemoryCluster,
    scheduler: Scheduler,
    dashboard: Dashboard,
    url: str,
) -> dict[str, Any]:
    """Let pods come while the pages are shown."""
    arrivals = Arrivals(cluster, given.rate)
    await arrivals.come(LIVED_SECONDS)
    spawned = multiprocessing.get_context("spawn")
    told: Queue[dict[str, list[Sample]]] = spawned.Queue()
    address = url.removesuffix("api")
    browser = spawned.Process(target=show, args=(address, given.seconds, told))
    await asyncio.to_thread(browser.start)
    began, attempts, held = time.monotonic(), scheduler.attempts, list[Sample]()
    while (passed := time.monotonic() - began) < given.seconds:
        held.append((passed, resident_kilobytes() / 1024))
        await arrivals.come(EVERY_SECONDS)
    decisions = (scheduler.attempts - attempts) / (time.monotonic() - began)
    reading = asyncio.create_task(asyncio.to_thread(told.get, timeout=120))
    while not reading.done():
        await arrivals.come(1.0)
    await asyncio.to_thread(browser.join)
    return {
        "nodes": given.nodes,
        "seconds": given.seconds,
        "updates_per_s": round(2 * decisions, 1),
        "scheduler": _told(held),
        **{f"page_{view}": _told(samples) for view, samples in reading.result().items()},
        "snapshots": dashboard.viewers.snapshots,
    }


def _told(samples: list[Sample]) -> dict[str, Any]:
    late = samples[len(samples) // 2 :]
    slope = statistics.linear_regression(*zip(*late, strict=True)).slope
    return {
        "mb_per_minute": round(60 * slope, 3),
        "mb": [round(held, 1) for _, held in samples],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--rate", type=float, default=500.0)
    parser.add_argument("--seconds", type=float, default=600.0)
    print(json.dumps(asyncio.run(measure(parser.parse_args(), watched))))


if __name__ == "__main__":
    main()
