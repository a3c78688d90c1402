"""How large the house is: files, their sizes, import cycles, and the files that one pod crosses.

    .venv/bin/python bench/house.py            one JSON line

A pod, a gang and a preemption are run on the embedded cluster under a profiler; what counts as
crossed is every file of the package, the embedded cluster and the test helpers apart, of which a
function is called between a pod's creation and its confirmed bind, on a scheduler that runs.
"""

import ast
import asyncio
import json
import random
import statistics
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import moorage
from moorage.api.pod import Pod
from moorage.app.assembly import assemble
from moorage.app.built_in_plugins import built_in, describe_plugins
from moorage.app.profile_builder import build_profiles
from moorage.clock import VirtualClock, run_virtual
from moorage.config.loader import default_configuration
from moorage.memory.kubelet import Kubelet
from moorage.memory.memory_cluster import MemoryCluster
from moorage.scheduler.tasks import cancelled
from moorage.testing import NodeBuilder, PodBuilder, node, pod
from moorage.watch.api_resources import PODS

Raw = dict[str, Any]
ROOT = Path(moorage.__file__).parent
APART = ("memory", "testing", "clock.py", "cli")


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    found = {}
    for path in ROOT.rglob("*.py"):
        parts = ("moorage", *path.relative_to(ROOT).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(name: str, path: Path, known: dict[str, Path]) -> set[str]:
    """The modules that one imports, under TYPE_CHECKING too."""
    found = set()
    for statement in ast.walk(ast.parse(path.read_text())):
        if isinstance(statement, ast.ImportFrom) and statement.module:
            for alias in statement.names:
                inner = f"{statement.module}.{alias.name}"
                found.add(inner if inner in known else statement.module)
        elif isinstance(statement, ast.Import):
            found.update(alias.name for alias in statement.names)
    return (found & known.keys()) - {name}


def in_cycles(graph: dict[str, set[str]]) -> int:
    """How many modules can reach themselves."""
    reach = {name: set(targets) for name, targets in graph.items()}
    changed = True
    while changed:
        changed = False
        for targets in reach.values():
            more = set().union(*(reach[target] for target in targets)) - targets
            if more:
                targets |= more
                changed = True
    return sum(name in targets for name, targets in reach.items())


def crossed(before: list[Raw], late: list[Raw]) -> int:
    """How many files are called into from when some pods are created until all are bound.

    The scheduler has run before, so that what is done once, as it starts, does not count.
    """
    files: set[str] = set()

    def profile(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            files.add(frame.f_code.co_filename)

    async def main() -> None:
        for raw in before:
            cluster.apply(raw)
        profiles = build_profiles(default_configuration(describe_plugins(known)), known)
        scheduler = assemble(cluster, profiles, clock=clock, rng=random.Random(0))
        tasks = [asyncio.ensure_future(scheduler.run()), asyncio.ensure_future(kubelet.serve())]
        await clock.sleep(30)
        sys.setprofile(profile)
        for raw in late:
            cluster.apply(raw)
        await clock.sleep(120)
        sys.setprofile(None)
        await cancelled(*tasks)
        pods = [pod for pod in cluster.objects(PODS) if isinstance(pod, Pod)]
        assert all(pod.spec.node_name for pod in pods), "a pod was not bound"

    known, clock = built_in(), VirtualClock(1000.0)
    cluster = MemoryCluster(clock=clock, rng=random.Random(0))
    kubelet = Kubelet(cluster)
    try:
        run_virtual(main(), clock)
    finally:
        sys.setprofile(None)
    inside = [Path(file) for file in files if file.startswith(f"{ROOT}/")]
    return sum(path.relative_to(ROOT).parts[0] not in APART for path in inside)


def raw(kind: str, built: NodeBuilder | PodBuilder) -> Raw:
    return {"apiVersion": "v1", "kind": kind, **built.raw}


NODE = raw("Node", node("a").offering(cpu="4"))
GROUP: Raw = {
    "apiVersion": "scheduling.x-k8s.io/v1alpha1",
    "kind": "PodGroup",
    "metadata": {"name": "g", "namespace": "default"},
    "spec": {"minMember": 2},
}
LABEL = {"scheduling.x-k8s.io/pod-group": "g"}


def one_pod() -> int:
    return crossed([NODE], [raw("Pod", pod("p").requesting(cpu="1"))])


def one_gang() -> int:
    pods = [raw("Pod", pod(f"p{i}").requesting(cpu="1").labelled(LABEL)) for i in range(2)]
    return crossed([NODE], [GROUP, *pods])


def one_preemption() -> int:
    low = pod("low").requesting(cpu="4").with_spec(terminationGracePeriodSeconds=0)
    high = pod("high").requesting(cpu="4").prioritised(9)
    return crossed([NODE, raw("Pod", low)], [raw("Pod", high)])


def main() -> None:
    known = modules()
    lines = sorted(len(path.read_text().splitlines()) for path in known.values())
    graph = {name: imports(name, path, known) for name, path in known.items()}
    leaves = [path.stem for path in known.values() if path.name != "__init__.py"]
    importers: dict[str, set[str]] = {}
    for name, targets in graph.items():
        for target in targets:
            importers.setdefault(target, set()).add(name)
    print(
        json.dumps(
            {
                "files": len(lines),
                "lines": sum(lines),
                "median": statistics.median(lines),
                "p90": lines[len(lines) * 9 // 10],
                "max": lines[-1],
                "at_most_30_lines": sum(n <= 30 for n in lines),
                "one_importer": sum(len(found) == 1 for found in importers.values()),
                "ing_names": sum(leaf.endswith("ing") for leaf in leaves),
                "repeated_names": len(leaves) - len(set(leaves)),
                "modules_in_cycles": in_cycles(graph),
                "crossed_by_a_pod": one_pod(),
                "crossed_by_a_gang": one_gang(),
                "crossed_by_a_preemption": one_preemption(),
            }
        )
    )


if __name__ == "__main__":
    main()
