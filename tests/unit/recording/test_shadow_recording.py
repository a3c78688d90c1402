"""A recording of a shadow: what if, from a time on, in a cluster that others decide for."""

import asyncio
import random
from pathlib import Path
from typing import Any

from moorage.app.assembly import assemble
from moorage.app.config_bundle import ConfigBundle
from moorage.app.profile_builder import build_profiles
from moorage.clock import VirtualClock, run_virtual
from moorage.memory.kubelet import Kubelet
from moorage.memory.memory_cluster import MemoryCluster
from moorage.recording.configuration import configured
from moorage.recording.journal import Journal
from moorage.recording.past import AS_RECORDED, compared
from moorage.recording.recorder import Recorder
from moorage.recording.segments import SegmentWriter
from moorage.scheduler.attempt import Tap
from moorage.shadow.process import Shadow
from moorage.simulate.candidate import Candidate
from moorage.watch.api_resources import NODES, PODS
from tests.unit.recording.mixed_cluster import node, pod
from tests.unit.recording.test_moments import PACKING

START = 1_767_225_600.0
DEFAULT = Candidate("kube-default")


def shadow_recording(folder: Path) -> None:
    """Ten pods come one by one, and another scheduler places them."""
    clock = VirtualClock(START)
    journal = Journal(SegmentWriter(folder), lambda why: None)

    def tap(now: Any) -> Tap:
        recorder = Recorder(journal.write, now)
        recorder.configured(configured(ConfigBundle(DEFAULT.load()), DEFAULT.plugins()))
        return recorder

    async def main() -> None:
        cluster = MemoryCluster(clock=clock, rng=random.Random(1))
        for number in range(5):
            await cluster.create(NODES, node(number))
        profiles = build_profiles(DEFAULT.load().configuration, DEFAULT.plugins())
        other = assemble(cluster, profiles, clock=clock, rng=random.Random(2))
        shadow = Shadow(cluster, [DEFAULT], clock, drifts=False, tap_of=tap)
        tasks = (other.run(), shadow.run(), Kubelet(cluster).serve())
        running = [asyncio.ensure_future(each) for each in tasks]
        await clock.sleep(5)
        for number in range(10):
            await cluster.create(PODS, pod(f"web-{number}", "500m"))
            await clock.sleep(1)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    run_virtual(main(), clock)
    journal.close()


def test_another_configuration_decides_for_the_pods_that_came_then(tmp_path: Path) -> None:
    shadow_recording(tmp_path / "cluster")
    file = tmp_path / "packing.yaml"
    file.write_text(PACKING)

    found = compared(tmp_path / "cluster", "2026-01-01T00:00:03Z", [str(file)])

    used = {each.name: each.kpis["nodes_used"] for each in found.configurations}
    assert used == {AS_RECORDED: 5, "packing": 2}
