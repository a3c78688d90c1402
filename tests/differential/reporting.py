"""What a run says: counts by feature, differences by field and plugin, the smallest cases."""

import json
from collections.abc import Iterator
from pathlib import Path

from tests.differential.comparing import Difference, differences
from tests.differential.judging import Decider, Verdict
from tests.differential.running import Tally
from tests.differential.shrinking import differs_in, shrink
from tests.differential.words import Json

SHOWN = 400


def summary(tally: Tally) -> Iterator[str]:
    total = sum(tally.verdicts.values())
    yield f"{total} cases: " + ", ".join(
        f"{count} {verdict.value}" for verdict, count in tally.verdicts.most_common()
    )
    yield "by feature: " + ", ".join(
        f"{name} {count}" + (f" ({tally.differing[name]} differ)" if tally.differing[name] else "")
        for name, count in sorted(tally.features.items())
    )
    yield "what kube-scheduler said, in cases:"
    yield from (f"{count:8}  {fact}" for fact, count in sorted(tally.facts.items()))
    if tally.wavering:
        yield f"kube-scheduler decided otherwise each time: cases {', '.join(tally.wavering)}"
    for (field, plugin), count in tally.kinds.most_common():
        yield f"  differs {count:4}  {field} {plugin}"


def is_good(tally: Tally) -> bool:
    return not tally.verdicts[Verdict.DIFFERS]


def shrunk(tally: Tally, oracle: Decider, ours: Decider, folder: Path) -> Iterator[str]:
    """Shrink the kept cases, write each to a file, and show how it differs."""
    folder.mkdir(parents=True, exist_ok=True)
    for judgement, kind in tally.kept:
        small = shrink(judgement.case, differs_in(kind, oracle, ours))
        want, got = oracle.ask([small])[0], ours.ask([small])[0]
        path = folder / f"{judgement.case['id']}.json"
        path.write_text(json.dumps({"case": small, "expect": want}, indent=1) + "\n")
        yield f"\n{path}\n{_one_line(small)}"
        found = sorted(differences(want, got), key=lambda d: d.kind != kind)
        yield from (_line(difference) for difference in found[:2])
        if got.get("error"):
            yield f"  raised at {got.get('place')}"


def _one_line(case: Json) -> str:
    return json.dumps({key: value for key, value in case.items() if value and key != "id"})


def _line(difference: Difference) -> str:
    place = " ".join(filter(None, (difference.field, difference.where, difference.plugin)))
    want, got = json.dumps(difference.want)[:SHOWN], json.dumps(difference.got)[:SHOWN]
    return f"  {place}\n    want {want}\n    got  {got}"
