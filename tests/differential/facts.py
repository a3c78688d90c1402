"""What an outcome shows: the rules that spoke, the scorers that counted, the victims found."""

import re
from collections.abc import Iterator

from tests.differential.words import Json

_NAMED = re.compile(r'"[^"]*"|\d+|[a-z0-9-]+/[a-z0-9.-]+')


def facts(outcome: Json) -> set[str]:
    """Short texts; outcomes with other facts are other kinds of outcome."""
    if outcome.get("error"):
        return {"error: " + _plain(outcome["error"])[:60]}
    return {*_verdicts(outcome), *_scores(outcome), *_preemption(outcome.get("preemption") or {})}


def _verdicts(outcome: Json) -> Iterator[str]:
    verdicts = list((outcome.get("rejected") or {}).values())
    if outcome.get("preFilter"):
        verdicts.append(outcome["preFilter"])
    for verdict in verdicts:
        for reason in verdict.get("reasons") or ("",):
            yield f"{verdict['plugin']}: {_plain(reason)[:70]} ({verdict['code']})"


def _scores(outcome: Json) -> Iterator[str]:
    scores = outcome.get("scores") or {}
    for plugin in sorted({plugin for parts in scores.values() for plugin in parts}):
        found = {parts.get(plugin, 0) for parts in scores.values()}
        if len(found) > 1:
            yield f"{plugin}: scores differ"


def _preemption(preemption: Json) -> Iterator[str]:
    candidates = preemption.get("candidates") or {}
    if not candidates:
        return
    yield "DefaultPreemption: " + ("one candidate" if len(candidates) == 1 else "candidates")
    if any(candidate["pdbViolations"] for candidate in candidates.values()):
        yield "DefaultPreemption: budgets violated"
    if any(len(candidate["victims"]) > 1 for candidate in candidates.values()):
        yield "DefaultPreemption: several victims"
    if len(preemption["chosen"]) > 1:
        yield "DefaultPreemption: a tie"


def _plain(text: str) -> str:
    return _NAMED.sub("_", text)
