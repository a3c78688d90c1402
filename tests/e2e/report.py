"""The table of specs in docs/parity.md: what kube-scheduler passes, and what Moorage does."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from tests.e2e.specs import Spec

BEGIN: Final = "<!-- e2e: written by make e2e -->"
END: Final = "<!-- /e2e -->"
TITLES: Final = {"kube-scheduler": "kube-scheduler", "moorage": "Moorage"}
Results = Mapping[str, Mapping[str, Spec]]
"""By scheduler, by name."""


def uncarried(names: Iterable[str], reasons: Mapping[str, str]) -> list[str]:
    """A table of specs that are not run: how many a pattern names, and why."""
    known = list(names)
    lines = ["| specs | how many | why they are not run |", "|---|---|---|"]
    for pattern, why in reasons.items():
        count = sum(bool(re.search(pattern, name)) for name in known)
        lines.append(f"| {pattern.replace(chr(92), '').replace('|', ', ')} | {count} | {why} |")
    return lines


def regressions(results: Results) -> list[str]:
    """The specs that kube-scheduler passes and Moorage does not."""
    peer, ours = results.get("kube-scheduler", {}), results.get("moorage", {})
    return [name for name, spec in peer.items() if spec.passed and not _passed(ours, name)]


def _passed(specs: Mapping[str, Spec], name: str) -> bool:
    return name in specs and specs[name].passed


def table(results: Results) -> list[str]:
    """The specs, a line each; those that neither passes are left out."""
    peer, ours = results.get("kube-scheduler", {}), results.get("moorage", {})
    names = sorted(n for n in {*peer, *ours} if _passed(peer, n) or _passed(ours, n))
    lines = ["| spec | kube-scheduler | Moorage |", "|---|---|---|"]
    lines += [f"| {_short(name)} | {_cell(peer, name)} | {_cell(ours, name)} |" for name in names]
    return lines


def summary(results: Results) -> str:
    """How many specs each passes, in one line."""
    passed = {who: sum(spec.passed for spec in specs.values()) for who, specs in results.items()}
    return ", ".join(
        f"{TITLES[who]} passes {count} of {len(results[who])}" for who, count in passed.items()
    )


def write(file: Path, lines: Iterable[str]) -> None:
    """Replace what stands between the markers."""
    text = file.read_text()
    block = "\n".join([BEGIN, *lines, END])
    pattern = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"{file} has no {BEGIN} ... {END} to write between")
    file.write_text(pattern.sub(lambda _: block, text))


def _cell(specs: Mapping[str, Spec], name: str) -> str:
    spec = specs.get(name)
    if spec is None:
        return "not run"
    return f"{spec.seconds:.0f} s" if spec.passed else f"**{spec.state}**"


def _short(name: str) -> str:
    """A spec's name without the labels in brackets, which say nothing to a reader."""
    return re.sub(r"\s+", " ", re.sub(r"\[[^\]]*\]", "", name)).strip().replace("|", "\\|")
