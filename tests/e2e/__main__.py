"""Runs Kubernetes' specs about scheduling with kube-scheduler and with Moorage; see `make e2e`."""

import argparse
import datetime
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

from tests.e2e import report
from tests.e2e.cluster import GATES, SCHEDULERS, cluster
from tests.e2e.groups import GROUPS, SHORT, UNCARRIED, VOLUMES, Group
from tests.e2e.specs import Spec, names, run
from tests.integration.control_plane import MISSING, ROOT, assets

KEPT = ROOT / "build" / "e2e"
PAGE = ROOT / "docs" / "parity.md"


def main() -> int:
    given = _arguments()
    programs = assets()
    if programs is None:
        sys.exit(MISSING)
    version = (programs / ".version").read_text().strip()
    chosen = _chosen(given)
    KEPT.mkdir(parents=True, exist_ok=True)
    failed = False
    for name, group in chosen.items():
        for scheduler in given.scheduler:
            _remember(name, scheduler, _run(programs, scheduler, version, group), given.focus)
        results = _remembered(name)
        missing = report.regressions(results) if len(results) == len(SCHEDULERS) else []
        failed = failed or bool(missing)
        print(f"{group.title}: {report.summary(results)}")
        print("".join(f"  only kube-scheduler passes: {spec}\n" for spec in missing), end="")
    if given.write:
        report.write(PAGE, _page(version, programs / VOLUMES))
    return 1 if failed else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.e2e", description=__doc__)
    parser.add_argument("--group", choices=["all", "short", *GROUPS], default="all")
    parser.add_argument("--focus", help="only specs that match this, counted to the group")
    parser.add_argument("--scheduler", action="append", choices=SCHEDULERS)
    parser.add_argument("--no-write", dest="write", action="store_false")
    given = parser.parse_args()
    given.scheduler = given.scheduler or list(SCHEDULERS)
    return given


def _chosen(given: argparse.Namespace) -> dict[str, Group]:
    if given.focus:
        of = GROUPS.get(given.group, Group(given.focus, ""))
        return {given.group: of._replace(focus=given.focus)}
    if given.group == "short":
        return {"short": SHORT}
    return {n: g for n, g in GROUPS.items() if given.group in ("all", n)}


def _run(programs: Path, scheduler: str, version: str, group: Group) -> list[Spec]:
    """What became of a group; logs stay where a spec fails."""
    home = Path(tempfile.mkdtemp(prefix=f"e2e-{scheduler}-"))
    began = f"{datetime.datetime.now():%H:%M}"
    print(f"{began} {group.title}, with {scheduler}: {home}/e2e.log tells how far", flush=True)
    with cluster(programs, home, scheduler, version, provision=group.provision) as plane:
        found = run(plane, programs / group.binary, group)
    for spec in found:
        print(f"  {scheduler}: {spec.state} in {spec.seconds:.0f} s: {spec.name}", flush=True)
    if found and all(spec.passed for spec in found):
        shutil.rmtree(home)
    else:
        print(f"  logs: {home}")
    return found


def _remember(group: str, scheduler: str, specs: list[Spec], focus: str | None) -> None:
    """Keep the outcome of a run; where only some were run, beside what others did before."""
    found = _remembered(group).get(scheduler, {}) if focus else {}
    found |= {spec.name: spec for spec in specs}
    file = KEPT / f"{group}-{scheduler}.json"
    file.write_text(json.dumps([spec._asdict() for spec in found.values()], indent=1))


def _remembered(group: str) -> dict[str, dict[str, Spec]]:
    """The last run of a group with each scheduler."""
    found: dict[str, dict[str, Spec]] = {}
    for scheduler in SCHEDULERS:
        file = KEPT / f"{group}-{scheduler}.json"
        if file.exists():
            specs = (Spec(**raw) for raw in json.loads(file.read_text()))
            found[scheduler] = {spec.name: spec for spec in specs}
    return found


def _page(version: str, volumes: Path) -> list[str]:
    """What docs/parity.md says of the last runs."""
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    gates = ", ".join(GATES)
    lines = [f"Kubernetes {version}, {today}, {os.cpu_count()} cores; gates on: {gates}.", ""]
    for name, group in GROUPS.items():
        results = _remembered(name)
        if len(results) == len(SCHEDULERS):
            title = f"**{group.title}**: {report.summary(results)}."
            lines += [title, "", *report.table(results), ""]
    with tempfile.TemporaryDirectory() as home:
        known = names(volumes, Path(home))
    return [*lines, "**Not run**, of storage and node:", "", *report.uncarried(known, UNCARRIED)]


if __name__ == "__main__":
    sys.exit(main())
