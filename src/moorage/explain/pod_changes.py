"""The smallest changes of a pod that make it fit.

1. Every Filter plugin filters all nodes on its own. So all plugins that refuse a node are known,
   not only the first.
2. Among the nodes that few plugins refuse, one is kept for all that would need the same change.
3. For each of these nodes, the options of its refusing plugins are combined and tried on it.
4. Every slightly smaller change is then tried on the whole cluster: a change is suggested only if
   nothing smaller fits anywhere.
"""

import itertools
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.api.decode import decode_as
from moorage.api.pod import Pod
from moorage.cycle import filtering
from moorage.explain import json_patch, pod_edits, relaxation
from moorage.explain.change import Change
from moorage.explain.json_patch import Patch
from moorage.explain.pod_edits import Raw
from moorage.explain.relaxation import Option, Relaxation, relaxed
from moorage.explain.world import Question, World

MOST_ROWS: Final = 48
"""How many nodes, each representing all nodes like it, are examined one by one."""
MOST_PARTS: Final = 3
"""A node that more plugins refuse is not examined, unless every node is refused by more."""
MOST_TRIED: Final = 8
MOST_LOOKS: Final = 3


class Candidate(NamedTuple):
    """Relaxations with which one node takes the pod."""

    cost: float
    row: int
    option: Option


def pod_changes(world: World, raw: Raw, most: int = 5) -> list[Change]:
    """The smallest changes of a pending pod, the best first.

    The search may be interrupted. If the cluster changed meanwhile and nothing was found, it is
    repeated, up to MOST_LOOKS times.
    """
    log, found = world.cache.table.usage_log, list[Change]()
    for _ in range(MOST_LOOKS):
        version = log.version
        found = _pod_changes(world, raw, most)
        if log.version == version or found:
            break
    return found


def _pod_changes(world: World, raw: Raw, most: int) -> list[Change]:
    question = world.question(decode_as(raw, Pod))
    found = sorted(_candidates(world, raw, question), key=lambda c: (c.cost, len(c.option)))
    changes: list[Change] = []
    for candidate in found:
        world.pause()
        patch = json_patch.diff(raw, relaxed(raw, candidate.option))
        if any(patch == change.patch for change in changes):
            continue
        if not _could_be_less(world, raw, candidate.option):
            changes.append(_change(world, candidate, patch))
        if len(changes) == most:
            break
    return changes


def _candidates(world: World, raw: Raw, question: Question) -> Iterator[Candidate]:
    refusals = Refusals(question)
    for row in refusals.representatives(raw):
        world.pause()
        by_plugin = []
        for plugin in refusals.of(row):
            accepts = partial(_accepts, world, plugin, row)
            by_plugin.append(relaxation.options(plugin, raw, question, row, accepts)[:MOST_TRIED])
        for parts in itertools.islice(itertools.product(*by_plugin), MOST_TRIED):
            world.pause()
            option = _each_once(part for option in parts for part in option)
            if option and world.fits_on(decode_as(relaxed(raw, option), Pod), row):
                yield Candidate(sum(part.size for part in option), row, option)


def _each_once(parts: Iterable[Relaxation]) -> Option:
    """The relaxations without duplicates: several plugins may refuse for one reason."""
    return tuple({part.summary: part for part in parts}.values())


def _accepts(world: World, plugin: str, row: int, raw: Raw) -> bool:
    """Whether one plugin accepts a raw pod on a row."""
    question = world.question(decode_as(raw, Pod))
    outright = question.refused_outright
    if outright is not None:
        return outright.plugin != plugin
    own = [entry for entry in question.found.active if entry.name == plugin]
    return filtering.refusal_with_nominated_pods(question.cycle, own, row) is None


def _change(world: World, candidate: Candidate, patch: Patch) -> Change:
    _, row, option = candidate
    kinds = list(dict.fromkeys(part.kind for part in option))
    return Change(
        kind=kinds[0],
        summary=" and ".join(part.summary for part in option),
        patch=patch,
        node=world.cache.table.node(row).name,
        cost=round(candidate.cost, 6),
        minimal=True,
        kinds=tuple(kinds) if len(option) > 1 else (),
    )


def _could_be_less(world: World, raw: Raw, option: Option) -> bool:
    """Whether the pod would fit on any node with one relaxation left out, or made smaller."""
    for index, part in enumerate(option):
        world.pause()
        rest = (*option[:index], *option[index + 1 :])
        smaller = [rest] if rest else []
        if part.less is not None:
            smaller.append((*option[:index], part._replace(edit=part.less), *option[index + 1 :]))
        if any(world.fits(decode_as(relaxed(raw, less), Pod)) for less in smaller):
            return True
    return False


class Refusals:
    """Which plugins refuse which rows, each independent of the others."""

    def __init__(self, question: Question) -> None:
        self._question = question
        table = question.cycle.table
        alive = table.alive[: table.rows]
        outright = question.refused_outright
        if outright is not None:
            self.plugins = [outright.plugin]
            self.matrix: NDArray[np.bool_] = alive[None, :].copy()
            return
        narrowing = sorted(question.found.narrowing_plugins)
        left_out = alive & ~question.searched
        asked = [(entry.name, question.refusing(entry)) for entry in question.asked]
        asked += [(name, left_out) for name in narrowing]
        refusing = [(name, rows) for name, rows in asked if rows.any()]
        self.plugins = [name for name, _ in refusing]
        shape = (0, table.rows)
        rows = [rows for _, rows in refusing]
        self.matrix = np.array(rows) if rows else np.zeros(shape, dtype=bool)

    def of(self, row: int) -> list[str]:
        """The names of all plugins that refuse a row."""
        found = (name for name, here in zip(self.plugins, self.matrix[:, row], strict=True) if here)
        return list(dict.fromkeys(found))

    def representatives(self, raw: Raw) -> list[int]:
        """Rows that few plugins refuse, one for each needed change, the nearest first."""
        table = self._question.cycle.table
        counts = self.matrix.sum(axis=0)
        rows = np.flatnonzero(table.alive[: table.rows] & (counts > 0))
        if not len(rows):
            return []
        fewest = int(counts[rows].min())
        rows = rows[counts[rows] <= min(fewest + 1, max(fewest, MOST_PARTS))]
        lacking, cut = self._shortage(rows)
        order = np.lexsort((cut, counts[rows]))
        keys = np.column_stack([self.matrix[:, rows].T, lacking, *self._traits(raw, rows)])
        _, first = np.unique(keys[order], axis=0, return_index=True)
        return [int(row) for row in rows[order][np.sort(first)][:MOST_ROWS]]

    def _shortage(self, rows: NDArray[np.intp]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """bool (row, request): what a row lacks; float (row): how much, as parts of requests."""
        table, requests = self._question.cycle.table, self._question.cycle.incoming.requests
        lacking = np.zeros((len(rows), len(requests)), dtype=bool)
        cut = np.zeros(len(rows))
        for place, (index, amount) in enumerate(requests):
            free = table.free[index, rows] if index < len(table.free) else np.zeros(len(rows))
            short = np.clip(amount - np.maximum(free, 0), 0, None) / max(amount, 1)
            lacking[:, place] = short > 0
            cut += short
        return lacking, cut

    def _traits(self, raw: Raw, rows: NDArray[np.intp]) -> list[NDArray[Any]]:
        """(row): the traits of nodes that the pod's rules refer to."""
        table = self._question.cycle.table
        spec = pod_edits.spec_of(raw)
        keys = set(spec.get("nodeSelector") or ())
        for term in pod_edits.node_terms(raw):
            keys.update(e.get("key", "") for e in term.get("matchExpressions") or ())
        for kind in ("podAffinity", "podAntiAffinity"):
            keys.update(term.get("topologyKey", "") for term in pod_edits.pod_terms(raw, kind))
        for constraint in spec.get("topologySpreadConstraints") or ():
            keys.add(constraint.get("topologyKey", ""))
        columns = [table.label(key).ids[rows] for key in sorted(keys) if key]
        return [table.taint_set[rows], table.unschedulable[rows], *columns]
