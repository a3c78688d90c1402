"""How large the house is: files, their sizes, import cycles, and the files that one pod crosses.

    .venv/bin/python bench/house.py            one JSON line

A pod, a gang and a preemption are run on the embedded cluster under a profiler; what counts as
crossed is every file of the package, the embedded cluster and the test helpers apart, of which a
function is called between the first event and the confirmed bind.
"""

import ast
import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import moorage
from moorage.testing import node, pod, schedule

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


def crossed(run: Callable[[], Any]) -> int:
    """How many files of the package are called into."""
    files: set[str] = set()

    def profile(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            files.add(frame.f_code.co_filename)

    run()  # what is imported or made once does not count
    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(None)
    inside = [Path(file) for file in files if file.startswith(f"{ROOT}/")]
    return sum(path.relative_to(ROOT).parts[0] not in APART for path in inside)


def one_pod() -> None:
    assert schedule(node("a"), pod("p").requesting(cpu="1")).nodes == {"p": "a"}


def one_gang() -> None:
    group = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "default"},
        "spec": {"minMember": 2},
    }
    label = {"scheduling.x-k8s.io/pod-group": "g"}
    pods = [pod(f"p{i}").requesting(cpu="1").labelled(label) for i in range(2)]
    assert all(schedule(node("a"), group, *pods).nodes.values())


def one_preemption() -> None:
    low = pod("low").requesting(cpu="4").on("a")
    high = pod("high").requesting(cpu="4").prioritised(9)
    assert schedule(node("a").offering(cpu="4"), low, high).nodes["high"] == "a"


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
                "crossed_by_a_pod": crossed(one_pod),
                "crossed_by_a_gang": crossed(one_gang),
                "crossed_by_a_preemption": crossed(one_preemption),
            }
        )
    )


if __name__ == "__main__":
    main()
