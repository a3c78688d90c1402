"""Every policy on every trace: bench/gpu.py for each seed, kept, and docs/gpu-results.md of them.

usage: gpu_table.py --traces DIR [--seeds 42-51] [--kept build/bench-gpu] [--jobs 2]
                    [--variants build/gpu-variants] [--out docs/gpu-results.md] [--as-kept]

What is kept is not measured again: a run that was interrupted goes on where it was.
"""

import argparse
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import gpu_variants
from gpu import seeds, summary
from gpu_trace import lacking

ROOT = Path(__file__).parent.parent
TRACES = ("default", "cpu050", "gpushare100", "multigpu20")
PUBLISHED = {"default": 95.23, "cpu050": 95.00, "gpushare100": 86.64, "multigpu20": 95.53}
VARIANTS = gpu_variants.NAMES
CLASSES = ("cpu", "share", "1", "2", "4", "8")


class Cell(NamedTuple):
    """One policy on one trace."""

    policy: str
    ties: str
    batch: int = 1

    @property
    def name(self) -> str:
        form = f", batch {self.batch}" if self.batch > 1 else ""
        return f"{self.policy}, {self.ties} ties{form}"


CELLS = (
    Cell("moorage", "random"),
    Cell("moorage", "name"),
    Cell("moorage", "random", 16),
    Cell("fgd", "name"),
    Cell("fgd", "random"),
    Cell("mostallocated", "random"),
    Cell("bestfit", "random"),
    Cell("kube", "random"),
    Cell("random", "random"),
    Cell("moorage", "name", 16),
    Cell("mostallocated", "name"),
    Cell("bestfit", "name"),
    Cell("kube", "name"),
)
ON_VARIANTS = (Cell("moorage", "random"), Cell("fgd", "name"))


class Part(NamedTuple):
    """One seed of a cell on a trace."""

    trace: str
    cell: Cell
    seed: int

    def file(self, folder: Path) -> Path:
        cell = self.cell
        return folder / f"{self.trace}-{cell.policy}-{cell.ties}-{cell.batch}-{self.seed}.json"

    def measure(self, given: argparse.Namespace) -> None:
        """Run bench/gpu.py for it, unless that was done, and keep what it says."""
        kept = self.file(given.kept)
        if kept.exists():
            return
        command = [sys.executable, str(ROOT / "bench/gpu.py"), "--seeds", str(self.seed)]
        command += ["--nodes", str(given.traces / "openb_node_list_gpu_node.csv.gz")]
        command += ["--pods", str(pods_file(self.trace, given))]
        cell = self.cell
        command += ["--policy", cell.policy, "--ties", cell.ties, "--batch", str(cell.batch)]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.with_suffix(".new").write_text(lines.splitlines()[0])
        kept.with_suffix(".new").rename(kept)


def pods_file(trace: str, given: argparse.Namespace) -> Path:
    name = f"openb_pod_list_{trace}.csv"
    derived: Path = given.variants / name
    published: Path = given.traces / f"{name}.gz"
    return derived if trace in VARIANTS else published


def read(trace: str, given: argparse.Namespace) -> dict[Cell, dict[str, Any]]:
    """What is kept of a trace, as one line for each cell."""
    found = {}
    for cell in CELLS:
        files = [Part(trace, cell, seed).file(given.kept) for seed in seeds(given.seeds)]
        lines = [json.loads(file.read_text()) for file in files if file.exists()]
        if lines:
            found[cell] = {"seeds": len(lines), **summary(lines)}
    return found


def table(trace: str, found: dict[Cell, dict[str, Any]]) -> list[str]:
    """What was allocated, and which classes were placed, for each policy."""
    points = ("80", "90", "95", "100", "130")
    known = PUBLISHED.get(trace)
    told = f"; FGD is published with {known} at 100 (ties by name)" if known else ""
    lines = [
        f"\n### {trace}\n",
        gpu_variants.WORDS.get(trace, "") + f"Allocated % of all GPUs when X % have been asked "
        f"for, mean ± sd{told}. Then placed % of each class before 100 %.\n",
        "| policy | " + " | ".join((*points, *CLASSES)) + " | per s | seeds |",
        "|---" * (len(points) + len(CLASSES) + 3) + "|",
    ]
    for cell, line in found.items():
        alloc = [line["alloc"][at] for at in points]
        parts = [f"{one['mean']:.2f} ± {one['sd']:.2f}" for one in alloc]
        placed = line["placed"]
        parts += [f"{placed[kind]['mean']:.1f}" if kind in placed else "" for kind in CLASSES]
        rate = line["placements_per_s"]
        lines.append(f"| {cell.name} | " + " | ".join(parts) + f" | {rate:,} | {line['seeds']} |")
    return lines


WIDTH, HEIGHT, MARGIN = 720, 380, 50
COLOURS = ("#1b6ca8", "#7fb0d6", "#0b3a5b", "#d1495b", "#e7a3ac", "#3c8d40", "#8e5ea2", "#c78b1e")


def curve(found: dict[Cell, dict[str, Any]]) -> str:
    """Allocated GPUs over the arrived workload, from 80 % on, as SVG."""

    def x(at: float) -> float:
        return MARGIN + (WIDTH - 2 * MARGIN) * (at - 80) / 50

    def y(alloc: float) -> float:
        return HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * (alloc - 76) / 21

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="11">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
    ]
    parts += [
        f'<line x1="{MARGIN}" x2="{WIDTH - MARGIN}" y1="{y(alloc):.1f}" y2="{y(alloc):.1f}" '
        f'stroke="#ddd"/><text x="10" y="{y(alloc) + 4:.1f}">{alloc} %</text>'
        for alloc in range(76, 98, 4)
    ]
    parts += [
        f'<text x="{x(at):.1f}" y="{HEIGHT - 30}" text-anchor="middle">{at} % asked for</text>'
        for at in range(80, 131, 10)
    ]
    for i, (cell, line) in enumerate(found.items()):
        points = [(float(at), alloc) for at, alloc in line["curve"].items() if float(at) >= 80]
        path = " ".join(f"{x(at):.1f},{y(max(alloc, 76)):.1f}" for at, alloc in points)
        colour = COLOURS[i % len(COLOURS)]
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(
            f'<text x="{WIDTH - 260}" y="{HEIGHT - 60 - 14 * (len(found) - i)}" fill="{colour}">'
            f"{cell.name}</text>"
        )
    return "\n".join([*parts, "</svg>", ""])


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--traces", type=Path, required=True)
    parser.add_argument("--seeds", default="42-51")
    parser.add_argument("--kept", type=Path, default=ROOT / "build/bench-gpu")
    parser.add_argument("--variants", type=Path, default=ROOT / "build/gpu-variants")
    parser.add_argument("--out", type=Path, default=ROOT / "docs/gpu-results.md")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--as-kept", action="store_true", help="measure nothing anew")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    if not given.as_kept:
        names = ["openb_node_list_gpu_node.csv.gz", *(f"openb_pod_list_{t}.csv.gz" for t in TRACES)]
        if lacks := lacking(given.traces, names):
            sys.exit(f"bench-gpu: {lacks}")
        gpu_variants.write(given.traces, given.variants)
        parts = [
            Part(trace, cell, seed)
            for trace in (*TRACES, *VARIANTS)
            for cell in (CELLS if trace in TRACES else ON_VARIANTS)
            for seed in seeds(given.seeds)
        ]
        with ThreadPoolExecutor(given.jobs) as pool:
            list(pool.map(lambda part: part.measure(given), parts))
    lines = ["# GPU packing: results", "", f"Made by `make bench-gpu`; seeds {given.seeds}."]
    lines += ["", "![Allocated GPUs over the arrived workload](gpu-curve.svg)"]
    for trace in (*TRACES, *VARIANTS):
        found = read(trace, given)
        lines += table(trace, found) if found else []
        if trace == "default":
            given.out.with_name("gpu-curve.svg").write_text(curve(found))
    given.out.write_text("\n".join(lines) + "\n")
    print(f"wrote {given.out}")


if __name__ == "__main__":
    main()
