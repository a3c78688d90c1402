"""The first attempt with another outcome: which plugin, and what differs.

For the node that was chosen in the recording, points are compared by plugin; for refused nodes,
verdicts are. If neither identifies a plugin, those whose code has changed are named.
"""

from collections import Counter
from collections.abc import Mapping

import msgspec

from moorage.cycle import attempt, filtering
from moorage.cycle.attempt import Decision
from moorage.cycle.filtering import Filtering
from moorage.framework.cycle import Cycle
from moorage.framework.extenders import NO_EXTENDERS
from moorage.framework.verdicts import Rejection, SchedulingError
from moorage.recording.entries import Configured, Failed, Outcome, Placed, PluginCode, Refused
from moorage.recording.plugin_code import SHORT, changed_code
from moorage.recording.replay import Made

PREEMPTION = "PostFilter"


class Difference(msgspec.Struct, frozen=True):
    """The result of a plugin in the recording, and its result here."""

    plugin: str
    then: str
    here: str


class Divergence(msgspec.Struct, frozen=True):
    """An attempt whose outcome differs from the recorded one."""

    attempt: str
    pod: str
    now: float
    then: str
    here: str
    differences: tuple[Difference, ...]
    changed: tuple[Difference, ...]
    """Code that differs, by its hash."""

    @property
    def plugins(self) -> tuple[str, ...]:
        """The suspects: the plugins with different results, or else those with changed code."""
        return tuple(dict.fromkeys(each.plugin for each in (self.differences or self.changed)))


def divergence_of(made: Made, then: Configured, here: tuple[PluginCode, ...]) -> Divergence:
    """Compare an attempt that came out differently with the recorded one."""
    entry = made.entry
    return Divergence(
        entry.id,
        made.info.pod.key,
        entry.now,
        words(entry.outcome),
        words(made.outcome),
        tuple(_differences(made)),
        tuple(
            Difference(name, _code(before), _code(after))
            for name, (before, after) in changed_code(then.code, here).items()
        ),
    )


def _code(code: PluginCode | None) -> str:
    return "not there" if code is None else f"{code.digest[:SHORT] or 'no source'} ({code.file})"


def words(outcome: Outcome) -> str:
    """The outcome of an attempt, in one line."""
    match outcome:
        case Placed(node, score, feasible, evaluated):
            return f"{node} with {score} points, of {feasible} feasible among {evaluated}"
        case Refused(verdicts, said, nominated, victims):
            nodes: Counter[str] = Counter()
            for _, reason, count in verdicts:
                nodes[reason] += count
            why = ", ".join(f"{count} {reason}" for reason, count in nodes.items())
            room = f"; {len(victims)} to be evicted from {nominated}" if nominated else ""
            told = filter(None, (f"{why}{room}", "" if nominated else said))
            return f"no node fits: {'. '.join(told)}"
        case Failed(error):
            return f"failed: {error}"


def _differences(made: Made) -> list[Difference]:
    then, here = made.entry.outcome, made.outcome
    if isinstance(then, Failed) or isinstance(here, Failed):
        return _of_failures(then, here)
    if isinstance(then, Placed):
        if isinstance(here, Placed) and then.node == here.node:
            return _of_points(dict(then.parts), dict(here.parts)) or _of_verdicts(made)
        return _of_node(made, then)
    if isinstance(here, Placed):
        return _of_verdicts(made, then)
    return _of_refusals(then, here) or _of_victims(then, here)


def _of_failures(then: Outcome, here: Outcome) -> list[Difference]:
    names = [each.plugin for each in (then, here) if isinstance(each, Failed) and each.plugin]
    return [Difference(name, words(then), words(here)) for name in dict.fromkeys(names)]


def _of_points(then: Mapping[str, int], here: Mapping[str, int]) -> list[Difference]:
    return [
        Difference(name, _points(then.get(name)), _points(here.get(name)))
        for name in sorted(then.keys() | here.keys())
        if then.get(name) != here.get(name)
    ]


def _points(points: int | None) -> str:
    return "nothing" if points is None else f"{points} points"


def _of_node(made: Made, then: Placed) -> list[Difference]:
    """If another node was chosen, or none: the results here for the recorded node."""
    refused = _refusal(made, then.node)
    if refused is not None:
        said = f"{then.node} refused: {refused.message}"
        return [Difference(refused.plugin, f"{then.node} passed", said)]
    parts = _parts(made, then.node)
    if parts is None or not then.parts:
        return []
    found = _of_points(dict(then.parts), parts)
    return [
        Difference(each.plugin, f"{then.node}: {each.then}", f"{then.node}: {each.here}")
        for each in found
    ]


def _again(made: Made) -> Cycle:
    return Cycle(
        made.cycle.cache,
        made.info,
        tie_key=made.entry.tie_key,
        now=made.entry.now,
        shared=made.profile.shared,
        extenders=NO_EXTENDERS,
    )


def _refusal(made: Made, node: str) -> Rejection | None:
    cycle = _again(made)
    row, outcome = cycle.table.row_of.get(node), Filtering(cycle)
    if row is None:
        return None
    try:
        filtering.pre_filter(made.profile, cycle, outcome)
        if outcome.diagnosis.pre_filter is not None:
            return outcome.diagnosis.pre_filter
        return filtering.refusal(cycle, outcome.active, row)
    except SchedulingError:
        return None


def _parts(made: Made, node: str) -> dict[str, int] | None:
    """The weighted score of each plugin for a node, here."""
    try:
        decided = attempt.run(made.profile, _again(made), keep_scores=True)
    except SchedulingError:
        return None
    if not isinstance(decided, Decision) or decided.scoring is None:
        return None
    scoring = decided.scoring
    for position in range(scoring.nodes.count):
        if scoring.nodes.node(position).name == node:
            return dict(scoring.shares_of(position))
    return None


def _of_verdicts(made: Made, then: Refused | None = None) -> list[Difference]:
    """How many nodes each plugin refuses here, compared with the recording if it is known."""
    if then is None:
        return []
    cycle = _again(made)
    outcome = Filtering(cycle)
    filtering.pre_filter(made.profile, cycle, outcome)
    outcome.feasible = filtering.feasible_rows(made.profile, cycle, outcome)
    here = attempt.folded(filtering.diagnose(made.profile, cycle, outcome))
    return _of_counts(_by_plugin(then.verdicts), _by_plugin(tuple(here)))


def _of_refusals(then: Refused, here: Refused) -> list[Difference]:
    return _of_counts(_by_plugin(then.verdicts), _by_plugin(here.verdicts))


def _of_counts(then: Mapping[str, str], here: Mapping[str, str]) -> list[Difference]:
    silent = "refused nobody"
    return [
        Difference(name, then.get(name, silent), here.get(name, silent))
        for name in sorted(then.keys() | here.keys())
        if then.get(name) != here.get(name)
    ]


def _by_plugin(verdicts: tuple[tuple[str, str, int], ...]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for plugin, reason, count in sorted(verdicts):
        found.setdefault(plugin, []).append(f"{count} {reason}")
    return {plugin: ", ".join(said) for plugin, said in found.items()}


def _of_victims(then: Refused, here: Refused) -> list[Difference]:
    if (then.nominated, then.victims, then.said) == (here.nominated, here.victims, here.said):
        return []
    return [Difference(PREEMPTION, _room(then), _room(here))]


def _room(outcome: Refused) -> str:
    if not outcome.nominated:
        return outcome.said or "nobody makes room"
    return f"{outcome.nominated}, evicting {', '.join(outcome.victims) or 'nobody'}"
