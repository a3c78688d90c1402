"""Throughput as the cluster grows: a JSON line per size, and a chart as SVG.

usage: growth.py [--nodes 1000 2000 ...] [--kinds basic varied ...] [--out docs/growth.svg]
       growth.py --nodes 5000 --pods 1000 10000 100000 --out docs/growth-pods.svg

Of nodes and pods, the chart is along the one that is given several sizes.
"""

import argparse
import json
import math
from pathlib import Path
from typing import Any

from compare import KINDS, MOORAGE, ROOT, measure

WIDTH, HEIGHT, MARGIN = 720, 400, 60
COLOURS = ("#1b6ca8", "#d1495b", "#3c8d40", "#8e5ea2", "#c78b1e")


def rows(kinds: list[str], sizes: list[tuple[int, int]]) -> list[dict[str, Any]]:
    found = []
    for kind in kinds:
        for nodes, pods in sizes:
            size = ["--kind", kind, "--nodes", str(nodes), "--pods", str(pods)]
            best = max(
                (measure([str(MOORAGE), "bench", *size]) for _ in range(2)),
                key=lambda line: float(line["pods_per_s"]),
            )
            print(json.dumps(best), flush=True)
            found.append(best)
    return found


def chart(found: list[dict[str, Any]], along: str) -> str:
    """Nodes or pods, and pods per second, both on logarithmic axes."""
    sizes = sorted({row[along] for row in found})
    most = max(row["pods_per_s"] for row in found)
    least = min(row["pods_per_s"] for row in found)
    low, high = 10 ** math.floor(math.log10(least)), 10 ** math.ceil(math.log10(most))

    def x(size: float) -> float:
        span = math.log(sizes[-1] / sizes[0]) or 1.0
        return MARGIN + (WIDTH - 2 * MARGIN) * math.log(size / sizes[0]) / span

    def y(rate: float) -> float:
        share = math.log(rate / low) / math.log(high / low)
        return HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * share

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{WIDTH / 2}" y="24" text-anchor="middle" font-size="15">'
        "Decisions per second, all nodes scored</text>",
        f'<text x="{WIDTH / 2}" y="{HEIGHT - 14}" text-anchor="middle">{along}</text>',
    ]
    rate = low
    while rate <= high:
        parts.append(
            f'<line x1="{MARGIN}" x2="{WIDTH - MARGIN}" y1="{y(rate):.1f}" y2="{y(rate):.1f}" '
            f'stroke="#ddd"/><text x="{MARGIN - 8}" y="{y(rate) + 4:.1f}" '
            f'text-anchor="end">{rate:,}</text>'
        )
        rate *= 10
    parts += [
        f'<text x="{x(size):.1f}" y="{HEIGHT - MARGIN + 18}" text-anchor="middle">{size:,}</text>'
        for size in sizes
    ]
    kinds = list(dict.fromkeys(row["kind"] for row in found))
    for index, kind in enumerate(kinds):
        colour = COLOURS[index % len(COLOURS)]
        points = [(row[along], row["pods_per_s"]) for row in found if row["kind"] == kind]
        path = " ".join(f"{x(size):.1f},{y(rate):.1f}" for size, rate in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [
            f'<circle cx="{x(size):.1f}" cy="{y(rate):.1f}" r="3" fill="{colour}"/>'
            for size, rate in points
        ]
        at = f'x="{WIDTH - MARGIN - 70}" y="{MARGIN + 18 * index}"'
        parts.append(f'<text {at} fill="{colour}">{kind}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=[1000, 2000, 5000, 10000, 20000])
    parser.add_argument("--pods", type=int, nargs="+", default=[3000])
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "growth.svg")
    given = parser.parse_args()
    sizes = [(nodes, pods) for nodes in given.nodes for pods in given.pods]
    along = "pods" if len(given.pods) > 1 else "nodes"
    given.out.write_text(chart(rows(given.kinds, sizes), along))
    print(f"wrote {given.out}")


if __name__ == "__main__":
    main()
