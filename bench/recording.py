"""What a recording costs, and whether a million decisions are the same again.

.venv/bin/python bench/recording.py cost [--kind basic] [--nodes 1000] [--pods 30000]
.venv/bin/python bench/recording.py whole [--kind basic] [--nodes 500] [--pods 5000]
.venv/bin/python bench/recording.py same [--decisions 1000000] [--nodes 100] [--keep DIR]

`cost` decides about the same pods with and without a recorder, in turns of a few thousand pods on
two clusters of their own: pods arrive, are decided about, assumed, and shown bound by the watch.
`whole` has the whole scheduler do it on an embedded cluster, with its queue, features, binding and
events. Both say

    throughput         pods a second by the clock on the wall, with and without a recorder, and how
                       much is lost, the median of all turns: what the deciding thread does more,
                       and what it waits for the interpreter while the other thread has it
    cpu_us             CPU for a pod: of the deciding thread, without and with a recorder (medians
                       of blocks of pods), and of the thread that compresses and writes

Throughput says something on a machine with a core to spare for the second thread; on a busy one
only CPU does.

`same` records decisions of many kinds, with pods that come and go and nodes that change, and has
two other processes replay them: one as it is, one without the C kernels.
"""

import argparse
import json
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from moorage import garbage
from moorage.api.pod import Pod
from moorage.app.built_in_plugins import built_in
from moorage.app.config_bundle import ConfigBundle
from moorage.app.inputs import read_configuration
from moorage.app.profile_builder import build_profiles
from moorage.bench import workload_kinds
from moorage.cache.cache import Cache
from moorage.cycle import attempt
from moorage.cycle.attempt import Decision
from moorage.framework.cycle import Cycle
from moorage.framework.plugin import give_handles
from moorage.framework.queued_pod import QueuedPod
from moorage.recording.configuration import configured
from moorage.recording.journal import THREAD, Journal
from moorage.recording.recorder import Recorder
from moorage.recording.segments import SegmentWriter
from moorage.scheduler.attempt import Decide, Tap, TapOf
from moorage.scheduler.placement import place
from moorage.simulate.manifest_files import Manifest
from moorage.simulate.simulation import simulate

TURN = 5000
BLOCK = 100
ROUNDS = 8
MIXED = ("basic", "varied", "spread", "antiaffinity", "affinity", "gpu", "unschedulable")
REPLAY = """
import json, resource, sys
without_c, folder, every = sys.argv[1] == "no C", sys.argv[2], int(sys.argv[3])
if without_c:
    for name in ("_kernels", "_gpu_kernels", "_node_totals"):
        sys.modules[f"moorage.kernels.{name}"] = None
from pathlib import Path
from moorage import kernels
from moorage.recording.play import Player
assert (not kernels.built) == without_c
def progress(attempts):
    if attempts % every == 0:
        print(f"{sys.argv[1]}: {attempts} attempts replayed", file=sys.stderr, flush=True)
played = Player(Path(folder), progress=progress).play()
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({
    "replay": sys.argv[1],
    "attempts": played.attempts,
    "same": played.divergence is None and not played.torn,
    "cpu_s": round(used.ru_utime + used.ru_stime, 1),
    "peak_rss_mb": round(used.ru_maxrss / 1024, 1),
}))
sys.exit(played.divergence is not None or bool(played.torn))
"""
REPLAYS = ("as it is", "no C")
TOLD = 50_000
"""How many decisions there are between two lines that tell how far it is."""


class Side:
    """A cluster on which pods are decided about, one after the other."""

    def __init__(self, kind: str, nodes: int, cache: Cache, decide: Decide, seed: int) -> None:
        known = built_in()
        self.loaded = read_configuration(None, known)
        profiles = build_profiles(self.loaded.configuration, known)
        self.profile = next(iter(profiles.values()))
        self.cache, self._decide = cache, decide
        self._count = 0
        self.now = 1_767_225_600.0
        for node in workload_kinds.nodes(kind, nodes):
            cache.put_node(node)
        give_handles(self.profile.plugins, cache, self.profile.shared)

    def schedule(self, pod: Pod) -> str:
        """Hear of a pod, decide, assume it, and see it bound; its node, or nothing."""
        self._count += 1
        self.now += 0.001
        info = self.cache.info(pod)
        cycle = Cycle(
            self.cache,
            info,
            now=self.now,
            attempt=f"{self._count:x}",
            shared=self.profile.shared,
        )
        outcome = self._decide(self.profile, cycle)
        if not isinstance(outcome, Decision):
            self.cache.remove_pod(pod.uid)
            return ""
        place(self.profile, cycle, QueuedPod(info, self.now), outcome)
        spec = msgspec.structs.replace(pod.spec, node_name=outcome.node)
        self.cache.put_pod(msgspec.structs.replace(pod, spec=spec))
        return outcome.node


def recorded_side(kind: str, nodes: int, folder: Path, seed: int) -> tuple[Side, Journal]:
    journal = Journal(SegmentWriter(folder), sys.exit)
    side: Side | None = None
    now = lambda: 0.0 if side is None else side.now  # noqa: E731 the side is made below
    recorder = Recorder(journal.write, now, journal.rotation)
    known = built_in()
    recorder.configured(configured(ConfigBundle(read_configuration(None, known)), known))
    side = Side(kind, nodes, recorder.cache, recorder.decide, seed)
    return side, journal


class Clocks:
    """What one side took: seconds on the wall for each turn, and CPU for each block of pods."""

    def __init__(self) -> None:
        self.walls: list[float] = []
        self.blocks: list[float] = []

    def turn(self, schedule: Callable[[Pod], object], pods: Sequence[Pod]) -> None:
        began = time.perf_counter()
        for start in range(0, len(pods), BLOCK):
            cpu = time.thread_time()
            for pod in pods[start : start + BLOCK]:
                schedule(pod)
            self.blocks.append(1e6 * (time.thread_time() - cpu) / BLOCK)
        self.walls.append((time.perf_counter() - began) / len(pods))


def told(plain: Clocks, recorded: Clocks, writer_us: float) -> dict[str, object]:
    """Throughput and CPU, side by side."""
    rate, recorded_rate = (1 / statistics.median(each.walls) for each in (plain, recorded))
    ratios = [a / b for a, b in zip(plain.walls, recorded.walls, strict=True)]
    blocks = list(zip(plain.blocks, recorded.blocks, strict=True))
    before = statistics.median(plain.blocks)
    more = statistics.median(b - a for a, b in blocks)
    return {
        "throughput": {
            "plain_pods_per_s": round(rate),
            "recorded_pods_per_s": round(recorded_rate),
            "lost_percent": round(100 * (1 - statistics.median(ratios)), 1),
        },
        "cpu_us": {
            "deciding_plain": round(before, 1),
            "deciding_recorded": round(statistics.median(recorded.blocks), 1),
            "deciding_more": round(more, 1),
            "deciding_more_percent": round(100 * more / before, 1),
            "writer": round(writer_us, 1),
        },
    }


def writer_seconds(journal: Journal) -> float:
    """CPU of the thread that compresses and writes, once it has taken everything.

    Asked of its own clock: others, such as the one that watches plugins' deadlines, are not its.
    """
    while journal.waiting:
        time.sleep(0.02)
    (thread,) = (each for each in threading.enumerate() if each.name == THREAD)
    assert thread.ident is not None
    return time.clock_gettime(time.pthread_getcpuclockid(thread.ident))


def cost(kind: str, nodes: int, pods: int) -> dict[str, object]:
    folder = Path(tempfile.mkdtemp()) / "recording"
    plain = Side(kind, nodes, Cache(), attempt.run, 1)
    recorded, journal = recorded_side(kind, nodes, folder, 1)
    clocks = {plain: Clocks(), recorded: Clocks()}
    garbage.freeze()
    spent = 0.0
    began = writer_seconds(journal)
    for turn, start in enumerate(range(0, pods, TURN)):
        made = [workload_kinds.pod(kind, index) for index in range(start, start + TURN)]
        for side in (plain, recorded) if turn % 2 else (recorded, plain):
            clocks[side].turn(side.schedule, made)
            spent = writer_seconds(journal) - began
    journal.close()
    same = sorted((node, info.uid) for node, info in plain.cache.pods()) == sorted(
        (node, info.uid) for node, info in recorded.cache.pods()
    )
    result = {
        "cost": kind,
        "nodes": nodes,
        "pods": pods,
        **told(clocks[plain], clocks[recorded], 1e6 * spent / pods),
        "bytes_per_pod": round(journal.written / pods, 1),
        "same_decisions": same,
    }
    shutil.rmtree(folder.parent)
    return result


class InFull:
    """A scheduler that is not recorded, and decides as one in a cluster does."""

    def __init__(self) -> None:
        self.cache = Cache()
        self.decide = attempt.run


class Whole:
    """Simulations of the whole scheduler, one after the other, with a recorder or without."""

    def __init__(self, kind: str, nodes: int, pods: int) -> None:
        self._known = built_in()
        self._loaded = read_configuration(None, self._known)
        self._configured = configured(ConfigBundle(self._loaded), self._known)
        self._pods = pods
        given = [
            *workload_kinds.nodes(kind, nodes),
            *(workload_kinds.pod(kind, index) for index in range(pods)),
        ]
        self._manifests = [
            Manifest(
                {"apiVersion": "v1", "kind": type(each).__name__, **msgspec.to_builtins(each)},
                "",
                0,
            )
            for each in given
        ]
        self.bytes = 0
        self.writer_us: list[float] = []

    def plain(self, clocks: Clocks) -> None:
        self._run(lambda now: InFull(), clocks)

    def recorded(self, clocks: Clocks) -> None:
        folder = Path(tempfile.mkdtemp()) / "recording"
        journal = Journal(SegmentWriter(folder), sys.exit)

        def tap(now: Callable[[], float]) -> Tap:
            recorder = Recorder(journal.write, now, journal.rotation)
            recorder.configured(self._configured)
            return recorder

        self._run(tap, clocks)
        self.writer_us.append(1e6 * writer_seconds(journal) / self._pods)
        journal.close()
        self.bytes = journal.written
        shutil.rmtree(folder.parent)

    def _run(self, tap: TapOf, clocks: Clocks) -> None:
        wall, cpu = time.perf_counter(), time.thread_time()
        simulate(self._manifests, self._loaded.configuration, self._known, tap_of=tap)
        clocks.blocks.append(1e6 * (time.thread_time() - cpu) / self._pods)
        clocks.walls.append((time.perf_counter() - wall) / self._pods)


def whole(kind: str, nodes: int, pods: int) -> dict[str, object]:
    run = Whole(kind, nodes, pods)
    plain, recorded = Clocks(), Clocks()
    run.recorded(Clocks())
    for turn in range(ROUNDS):
        if turn % 2:
            run.plain(plain)
            run.recorded(recorded)
        else:
            run.recorded(recorded)
            run.plain(plain)
    return {
        "whole": kind,
        "nodes": nodes,
        "pods": pods,
        **told(plain, recorded, statistics.median(run.writer_us)),
        "bytes_per_pod": round(run.bytes / pods, 1),
    }


def same(decisions: int, nodes: int, keep: str) -> bool:
    """Record, then have two other processes replay it, both at once."""
    folder = Path(keep or tempfile.mkdtemp()) / "recording"
    began = time.perf_counter()
    size = record_mixed(decisions, nodes, folder)
    told = {"decisions": decisions, "bytes": size, "seconds": _since(began), **_used()}
    print(json.dumps(told), flush=True)
    running = [
        subprocess.Popen([sys.executable, "-c", REPLAY, name, str(folder), str(TOLD)])
        for name in REPLAYS
    ]
    ended = [process.wait() for process in running]
    print(json.dumps({"replayed": ended == [0, 0], "seconds": _since(began)}))
    if not keep:
        shutil.rmtree(folder.parent)
    return ended == [0, 0]


def record_mixed(decisions: int, nodes: int, folder: Path) -> int:
    """Pods of many kinds come and go, nodes change; how many bytes that takes."""
    side, journal = recorded_side("basic", nodes, folder, 3)
    kinds = [kind for kind in MIXED if kind in workload_kinds.KINDS]
    dice, there = random.Random(5), list[str]()
    for index in range(decisions):
        pod = workload_kinds.pod(kinds[index // 50 % len(kinds)], index)
        if side.schedule(pod):
            there.append(pod.uid)
        if len(there) > 12 * nodes:
            for _ in range(nodes):
                side.cache.remove_pod(there.pop(dice.randrange(len(there))))
        if index % 997 == 0:
            change_node(side.cache, dice, index)
        if index % TOLD == TOLD - 1:
            print(f"{index + 1} decisions recorded", file=sys.stderr, flush=True)
    journal.close()
    return journal.written


def _used() -> dict[str, float]:
    """CPU and memory of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu = used.ru_utime + used.ru_stime
    return {"cpu_s": round(cpu, 1), "peak_rss_mb": round(used.ru_maxrss / 1024, 1)}


def change_node(cache: Cache, dice: random.Random, index: int) -> None:
    """A node goes and comes back with another label."""
    node = cache.table.node(dice.choice(list(cache.table.row_of.values())))
    cache.remove_node(node)
    labels = {**node.labels, "seen": str(index)}
    metadata = msgspec.structs.replace(node.metadata, labels=labels)
    cache.put_node(msgspec.structs.replace(node, metadata=metadata))


def _since(began: float) -> float:
    return round(time.perf_counter() - began, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("cost", "whole", "same"))
    parser.add_argument("--kind", default="basic")
    parser.add_argument("--nodes", type=int, default=0)
    parser.add_argument("--pods", type=int, default=0)
    parser.add_argument("--decisions", type=int, default=1_000_000)
    parser.add_argument("--keep", default="")
    given = parser.parse_args()
    if given.what == "cost":
        print(json.dumps(cost(given.kind, given.nodes or 1000, given.pods or 30_000)))
    elif given.what == "whole":
        print(json.dumps(whole(given.kind, given.nodes or 500, given.pods or 5000)))
    else:
        sys.exit(0 if same(given.decisions, given.nodes or 100, given.keep) else 1)


if __name__ == "__main__":
    main()
