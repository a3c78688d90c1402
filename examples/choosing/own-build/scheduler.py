"""A scheduler of one's own, built from Moorage's parts: what plugins cannot change is changed here.

Ties go to the first node instead of a random one, and every decision is written down as a line.
This runs on the embedded cluster; on a real one the same scheduler takes a KubeApiServer and the
machine's clock instead of the embedded cluster and virtual time.
"""

import asyncio
import random
import sys
from pathlib import Path
from typing import Any

from moorage.api.pod import Pod
from moorage.app import built_in_plugins, plugin_files
from moorage.app.assembly import assemble
from moorage.app.profile_builder import build_profiles
from moorage.clock import VirtualClock, run_virtual
from moorage.config.loader import load
from moorage.cycle.profile import Profile
from moorage.memory.memory_cluster import MemoryCluster
from moorage.observe.records import Attempt
from moorage.simulate import manifest_files
from moorage.watch.api_resources import PODS

HERE = Path(__file__).parent
SETTLED_SECONDS = 60.0


class FirstOfAll(random.Random):
    """Of several nodes that are equally good, the first."""

    def randrange(self, *args: Any, **more: Any) -> int:
        return 0


class Book:
    """An observer that writes down what was decided."""

    def attempted(self, attempt: Attempt) -> None:
        print(f"{attempt.pod}\t{attempt.node or 'waits'}\t{attempt.message}")


def profiles() -> dict[str, Profile]:
    known = plugin_files.load_plugins([str(HERE.parent / "rule.py")])
    text = (HERE.parent / "framework-plugin" / "scheduler.yaml").read_bytes()
    return build_profiles(
        load(text, known=built_in_plugins.describe_plugins(known)).configuration, known
    )


async def schedule(cluster: MemoryCluster, clock: VirtualClock) -> None:
    scheduler = assemble(cluster, profiles(), clock=clock, rng=FirstOfAll(), observers=(Book(),))
    running = asyncio.ensure_future(scheduler.run())
    await clock.sleep(SETTLED_SECONDS)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def main(paths: list[str]) -> None:
    clock = VirtualClock()
    cluster = MemoryCluster(clock=clock, rng=random.Random(0))
    for manifest in manifest_files.read_manifests(paths):
        cluster.apply(manifest.raw)
    run_virtual(schedule(cluster, clock), clock)
    waiting = [p.key for p in cluster.objects(PODS) if isinstance(p, Pod) and not p.spec.node_name]
    print(f"{len(waiting)} waiting: {', '.join(waiting)}")


if __name__ == "__main__":
    main(sys.argv[1:] or [str(HERE.parent / name) for name in ("cluster.yaml", "pods.yaml")])
