"""Moorage and kube-scheduler on the same workloads, in turn, on this machine.

Prints one JSON line per kind and size with both figures and their ratio, then a table. Moorage
scores all nodes; kube-scheduler samples them as it does by default.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PEER = ROOT / ".kube-assets" / "bin" / "bench-peer"
MOORAGE = Path(sys.executable).with_name("moorage")
KINDS = ("basic", "varied", "spread", "antiaffinity", "affinity")
DEVICE_KINDS = ("claims", "claims-match", "claims-shared")


def measure(command: list[str]) -> dict[str, Any]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    line: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return line


def compare(kind: str, nodes: int, pods: int, repeat: int) -> dict[str, Any]:
    size = ["--kind", kind, "--nodes", str(nodes), "--pods", str(pods)]
    theirs, ours = [], []
    for _ in range(repeat):
        theirs.append(measure([str(PEER), *(word.replace("--", "-") for word in size)]))
        ours.append(measure([str(MOORAGE), "bench", *size]))
    them = max(line["pods_per_s"] for line in theirs)
    us = max(line["pods_per_s"] for line in ours)
    best = max(ours, key=lambda line: line["pods_per_s"])
    return {
        "kind": kind,
        "nodes": nodes,
        "pods": pods,
        "kube_pods_per_s": round(them, 1),
        "moorage_pods_per_s": round(us, 1),
        "ratio": round(us / them, 1),
        "p99_ms": best["p99_ms"],
        "peak_rss_mb": best["peak_rss_mb"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=[1000, 5000])
    parser.add_argument("--pods", type=int, default=3000)
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=(*KINDS, *DEVICE_KINDS))
    parser.add_argument("--repeat", type=int, default=3, help="runs of each; the best counts")
    given = parser.parse_args()
    if not PEER.exists():
        sys.exit("bench-peer is not built: run `make bench-peer`")
    rows = []
    for nodes in given.nodes:
        for kind in given.kinds:
            row = compare(kind, nodes, given.pods, given.repeat)
            print(json.dumps(row), flush=True)
            rows.append(row)
    print(f"\n{'kind':14}{'nodes':>7}{'kube':>10}{'moorage':>10}{'ratio':>8}")
    for row in rows:
        kube, ours = row["kube_pods_per_s"], row["moorage_pods_per_s"]
        print(f"{row['kind']:14}{row['nodes']:>7}{kube:>10}{ours:>10}{row['ratio']:>7}x")


if __name__ == "__main__":
    main()
