"""What a recording costs, and whether a million decisions are the same again.

.venv/bin/python bench/recording.py cost [--kind basic] [--nodes 1000] [--pods 5000]
.venv/bin/python bench/recording.py whole [--kind basic] [--nodes 500] [--pods 2000]
.venv/bin/python bench/recording.py same [--decisions 1000000] [--nodes 100] [--keep DIR]

`cost` decides about the same pods with and without a recorder, in turns of a few hundred pods on
two clusters of their own, and compares CPU time, the median of all turns: pods arrive, are decided
about, assumed, and shown bound by the watch. What the thread that compresses and writes takes is
added.

`whole` has the whole scheduler do it on an embedded cluster, with its queue, features, binding and
events, and takes the best of several turns.

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
import time
from collections.abc import Callable
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
from moorage.recording.journal import Journal
from moorage.recording.recorder import Recorder
from moorage.recording.segments import SegmentWriter
from moorage.scheduler.attempt import Decide, Tap
from moorage.scheduler.placement import place
from moorage.simulate.manifest_files import Manifest
from moorage.simulate.simulation import simulate

TURN = 250
ROUNDS = 6
MIXED = ("basic", "varied", "spread", "antiaffinity", "affinity", "gpu", "unschedulable")
REPLAY = """
import json, resource, sys
without_c, folder, every = sys.argv[1] == "no C", sys.argv[2], int(sys.argv[3])
if without_c:
    for name in ("_kernels", "_gpu_kernels", "_node_totals"):
        sys.modules[f"moorage.kernels.{name}"] = None
from pathlib import Path
from moorage.kernels import compiled
from moorage.recording.play import Player
assert (compiled is None) == without_c
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
        self._rng = random.Random(seed)
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
            random=self._rng,
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


def cost(kind: str, nodes: int, pods: int) -> dict[str, object]:
    folder = Path(tempfile.mkdtemp()) / "recording"
    plain = Side(kind, nodes, Cache(), attempt.run, 1)
    recorded, journal = recorded_side(kind, nodes, folder, 1)
    sides = {"plain": plain, "recorded": recorded}
    turns: dict[str, list[float]] = {name: [] for name in sides}
    garbage.freeze()
    all_threads, own = time.process_time(), time.thread_time()
    for start in range(0, pods, TURN):
        made = [workload_kinds.pod(kind, index) for index in range(start, start + TURN)]
        order = list(sides) if start // TURN % 2 else list(reversed(sides))
        for name in order:
            began = time.thread_time()
            for pod in made:
                sides[name].schedule(pod)
            turns[name].append(1e6 * (time.thread_time() - began) / TURN)
    journal.close()
    writer = (time.process_time() - all_threads) - (time.thread_time() - own)
    same = sorted((node, info.uid) for node, info in plain.cache.pods()) == sorted(
        (node, info.uid) for node, info in recorded.cache.pods()
    )
    usual = {name: statistics.median(each) for name, each in turns.items()}
    more = statistics.median(b - a for a, b in zip(*turns.values(), strict=True))
    cost = more + 1e6 * writer / pods
    result = {
        "kind": kind,
        "nodes": nodes,
        "pods": pods,
        "plain_cpu_us": round(usual["plain"], 1),
        "recorded_more_us": round(more, 1),
        "writer_us": round(1e6 * writer / pods, 1),
        "cost_percent": round(100 * cost / usual["plain"], 1),
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


def whole(kind: str, nodes: int, pods: int) -> dict[str, object]:
    known = built_in()
    loaded = read_configuration(None, known)
    given = [
        *workload_kinds.nodes(kind, nodes),
        *(workload_kinds.pod(kind, i) for i in range(pods)),
    ]
    raws = [
        {"apiVersion": "v1", "kind": type(each).__name__, **msgspec.to_builtins(each)}
        for each in given
    ]
    manifests = [Manifest(raw, "", 0) for raw in raws]
    spent, size = {"plain": list[float](), "recorded": list[float]()}, 0
    for turn in range(ROUNDS):
        for name in sorted(spent, reverse=bool(turn % 2)):
            folder = Path(tempfile.mkdtemp()) / "recording"
            journal = Journal(SegmentWriter(folder), sys.exit)

            def tap(now: Callable[[], float], journal: Journal = journal) -> Tap:
                recorder = Recorder(journal.write, now, journal.rotation)
                recorder.configured(configured(ConfigBundle(loaded), known))
                return recorder

            cpu = time.process_time()
            given_tap = tap if name == "recorded" else lambda now: InFull()
            simulate(manifests, loaded.configuration, known, tap_of=given_tap)
            journal.close()
            spent[name].append(time.process_time() - cpu)
            size = journal.written or size
            shutil.rmtree(folder.parent)
    plain, recorded = (1e6 * min(times) / pods for times in spent.values())
    return {
        "whole": kind,
        "nodes": nodes,
        "pods": pods,
        "plain_cpu_us": round(plain, 1),
        "recorded_cpu_us": round(recorded, 1),
        "cost_percent": round(100 * (recorded / plain - 1), 1),
        "bytes_per_pod": round(size / pods, 1),
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
    parser.add_argument("--pods", type=int, default=5000)
    parser.add_argument("--decisions", type=int, default=1_000_000)
    parser.add_argument("--keep", default="")
    given = parser.parse_args()
    if given.what == "cost":
        print(json.dumps(cost(given.kind, given.nodes or 1000, given.pods)))
    elif given.what == "whole":
        print(json.dumps(whole(given.kind, given.nodes or 500, given.pods)))
    else:
        sys.exit(0 if same(given.decisions, given.nodes or 100, given.keep) else 1)


if __name__ == "__main__":
    main()
