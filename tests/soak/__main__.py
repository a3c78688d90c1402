"""`python -m tests.soak SCENARIO`: one JSON line of figures, trends and a verdict.

Ends with 1 where anything grows, where pods that were created were not bound, or where events were
dropped that an API server bears.
"""

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
from pathlib import Path

from moorage.kube import kubeconfig
from moorage.kube.kube_api_server import KubeApiServer
from tests.integration.control_plane import MISSING, ControlPlane, assets, free_ports
from tests.integration.harness import Replica, configuration
from tests.integration.making import Raw
from tests.soak.samples import Sampler, growing, trends
from tests.soak.scenarios import SCENARIOS, Field, Size

EVENTS_ARE_SENT = frozenset(["churn", "nodes", "storm"])
"""In the others more happens than an API server on two cores takes events about."""
FLAGS = ("--max-requests-inflight=3000", "--max-mutating-requests-inflight=1000")


def main() -> int:
    options = _options()
    programs = assets()
    if programs is None:
        print(MISSING)
        return 2
    found = soak(programs, options.scenario, _size(options), options.every)
    print(json.dumps(found), flush=True)
    return 0 if found["verdict"] == "steady" else 1


def soak(programs: Path, name: str, size: Size, every: float) -> Raw:
    """Play one scenario on a control plane of its own."""
    home = Path(tempfile.mkdtemp(prefix=f"soak-{name}-"))
    try:
        with ControlPlane(programs, home / "plane", *FLAGS, *SCENARIOS[name][2]) as plane:
            return asyncio.run(_play(plane, home, name, size, every))
    finally:
        shutil.rmtree(home, ignore_errors=True)


async def _play(plane: ControlPlane, home: Path, name: str, size: Size, every: float) -> Raw:
    (port,) = free_ports(1)
    fast = {"qps": 5000, "burst": 5000}
    config = configuration(clientConnection=fast)
    replica = Replica(home, "moorage", config, plane.kubeconfig, f"--http-port={port}", "--v=0")
    server = KubeApiServer(kubeconfig.load_kubeconfig([plane.kubeconfig]), qps=0, selectors={})
    try:
        await asyncio.to_thread(replica.says, '"', 60.0)
        await asyncio.sleep(2.0)
        sampler = Sampler(replica.process.pid, port, every)
        looking = asyncio.ensure_future(sampler.run())
        figures = await SCENARIOS[name][0](Field(plane, server, size, sampler.samples.clear))
        figures |= await sampler.events()
        looking.cancel()
    finally:
        await server.close()
        replica.process.kill()
        replica.process.wait()
    return _answer(name, size, figures, sampler, "Traceback" in replica.said)


def _answer(name: str, size: Size, figures: Raw, sampler: Sampler, traceback: bool) -> Raw:
    lines = trends(sampler.samples)
    wrong = [f"{each} grows" for each in growing(lines)]
    if figures["bound"] < figures["created"]:
        wrong.append(f"{figures['created'] - figures['bound']} pods were not bound")
    if name in EVENTS_ARE_SENT and figures["events_dropped"]:
        wrong.append(f"{figures['events_dropped']} events were dropped")
    if traceback:
        wrong.append("a traceback in the log")
    return {
        "scenario": name,
        **size._asdict(),
        **figures,
        "samples": len(sampler.samples),
        **{key: _rounded(line) for key, line in lines.items()},
        "verdict": ", ".join(wrong) or "steady",
    }


def _rounded(line: tuple[float, ...]) -> dict[str, float]:
    first, last, per_minute = line
    return {"from": round(first, 1), "to": round(last, 1), "per_minute": round(per_minute, 2)}


def _size(options: argparse.Namespace) -> Size:
    given = {field: getattr(options, field) for field in Size._fields}
    usual = SCENARIOS[options.scenario][1]
    return usual._replace(**{field: value for field, value in given.items() if value is not None})


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("scenario", choices=sorted(SCENARIOS))
    parser.add_argument("--minutes", type=float, help="how long pods come and go")
    parser.add_argument("--rate", type=float, help="pods per second")
    parser.add_argument("--nodes", type=int)
    parser.add_argument("--pods", type=int, help="pods that stay, or wait")
    parser.add_argument("--updates", type=int, help="updates of nodes within a minute")
    parser.add_argument("--every", type=float, default=2.0, help="seconds between two looks")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
