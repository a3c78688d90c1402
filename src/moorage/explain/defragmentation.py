"""Defragmentation: moves of a few pods that make unusable GPUs usable.

1. A pod may move if it holds GPUs, a controller recreates it, it is in no gang, and no disruption
   budget protects it, counting the pods moved before.
2. The candidates of a node are its smallest such pods: one, two and so on. What their end would
   make usable is computed from the device columns. The best candidates per move are examined.
3. The pods of a candidate are evicted on a trial of the cache and placed again one by one, as the
   scheduler would place them. If one returns to its node, or fits nowhere, the set is no move.
4. The set that makes the most usable per move is taken. Then the search starts again.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec
import numpy as np

from moorage.api.cluster_objects import PodDisruptionBudget
from moorage.api.pod import Pod
from moorage.api.podgroup import group_names
from moorage.cache.disruption_budgets import Budgets
from moorage.cache.podinfo import CPU, PodInfo
from moorage.cycle import scoring
from moorage.explain.world import World
from moorage.policies.gpu.devices.annotations import Holding
from moorage.policies.gpu.gpu_packing import PackedGPUs, packed_gpus
from moorage.policies.gpu.packing_costs import Devices, potential

MOST_TRIED: Final = 24
"""How many sets of pods are placed again on a trial for each one that is proposed."""
LEAST_GAIN: Final = 100.0
"""Thousandths of a GPU that each move must make usable."""
SAFE: Final = "cluster-autoscaler.kubernetes.io/safe-to-evict"


class GPUMoment(msgspec.Struct, frozen=True):
    """The GPUs of a cluster at one moment, in GPUs; `room`: how many pods with so many fit."""

    idle: float
    unusable: float
    """Idle GPUs that pods like those of the cluster, weighted by frequency, could not use."""
    room: dict[str, int]
    waiting: int
    """Pending pods with GPUs that fit nowhere."""


class GPUMove(msgspec.Struct, frozen=True):
    """A pod to evict, its node, and the node where its replacement would go."""

    pod: str
    source: str
    target: str
    gpus: float


class Defragmentation(msgspec.Struct, frozen=True):
    """Moves in the order in which they must be made, and the GPUs before and after."""

    moves: tuple[GPUMove, ...]
    before: GPUMoment
    after: GPUMoment


class _Candidate(NamedTuple):
    row: int
    pods: tuple[PodInfo, ...]
    hoped: float


def defragment(world: World, waiting: Iterable[Pod], most: int) -> Defragmentation:
    """Propose at most `most` moves; changes nothing."""
    pods = sorted(waiting, key=lambda pod: pod.key)
    with world.cache.trial():
        for pod in pods:
            world.question(pod)
        found = _Search(world, packed_gpus(world.cache.table))
        before = found.moment(pods)
        while len(found.moves) < most and found.step(most - len(found.moves)):
            world.pause()
        return Defragmentation(tuple(found.moves), before, found.moment(pods))


class _Search:
    """A search; its moves so far are made on a trial."""

    def __init__(self, world: World, packed: PackedGPUs) -> None:
        self._world, self._packed, self._table = world, packed, world.cache.table
        self._budgets = Budgets(world.cache.objects.all(PodDisruptionBudget))
        self._evicted: list[PodInfo] = []
        self._moved: set[str] = set()
        self.moves: list[GPUMove] = []
        packed.typical.renew(self._free(), packed.columns.capacity)

    def _free(self) -> Devices:
        return self._packed.columns.free(self._table)

    def _lost(self, free: Devices) -> float:
        return float(potential(free, self._packed.typical.demand).sum())

    def step(self, most: int) -> bool:
        """Make the best set of at most `most` moves; False if none is worth it."""
        best: tuple[float, _Candidate, list[int]] | None = None
        for candidate in self._candidates(most):
            count = len(candidate.pods)
            if best is not None and candidate.hoped / count <= best[0]:
                continue
            with self._world.cache.trial():
                lost = self._lost(self._free())
                rows = self._moved_to(candidate)
                gain = (lost - self._lost(self._free())) / count if rows else 0.0
            if rows and gain >= LEAST_GAIN and (best is None or gain > best[0]):
                best = gain, candidate, rows
        if best is not None:
            self._make(best[1], best[2])
        return best is not None

    def _candidates(self, most: int) -> list[_Candidate]:
        """The most promising sets, by what their end makes usable per pod."""
        found = [one for row in range(self._table.rows) for one in self._of_row(row, most)]
        return sorted(found, key=lambda one: -one.hoped / len(one.pods))[:MOST_TRIED]

    def _of_row(self, row: int, most: int) -> list[_Candidate]:
        movable = self._movable(row)
        if not movable:
            return []
        free = self._free().at(np.array([row]))
        start, found = self._lost(free), list[_Candidate]()
        left, cpu = free.left.copy(), free.cpu.copy()
        for count, (info, held) in enumerate(movable[:most], 1):
            left[0, list(held.devices)] += held.milli
            cpu += dict(info.requests).get(CPU, 0)
            pods = tuple(info for info, _ in movable[:count])
            if any(self._budgets.violated_by([*self._evicted, *pods])):
                break
            freed = float(left.sum() - free.left.sum())
            hoped = start + freed - self._lost(free._replace(left=left, cpu=cpu))
            found.append(_Candidate(row, pods, hoped))
        return found

    def _movable(self, row: int) -> list[tuple[PodInfo, Holding]]:
        """The movable pods of a row and the devices they hold, the smallest first."""
        found = []
        for info in self._table.pods[row].values():
            held = self._packed.columns.held(info.uid)
            if held is not None and held.devices and self._may_move(info):
                found.append((info, held))
        return sorted(found, key=lambda both: (_size(both[1]), both[0].uid))

    def _may_move(self, info: PodInfo) -> bool:
        pod = info.pod
        if pod.owner is None or pod.owner.kind in ("DaemonSet", "Node") or pod.is_terminal:
            return False
        if pod.is_terminating or group_names(pod) or pod.annotations.get(SAFE) == "false":
            return False
        return info.uid not in self._moved

    def _moved_to(self, candidate: _Candidate) -> list[int]:
        """The row where each pod goes, the largest first; empty if one stays or does not fit."""
        cache, rows = self._world.cache, list[int]()
        for info in candidate.pods:
            cache.displace(info)
        for info in reversed(candidate.pods):
            row = self._best_row(info.pod)
            if row is None or row == candidate.row:
                return []
            cache.place_on(row, cache.info(_anew(info.pod)))
            rows.append(row)
        return rows

    def _best_row(self, pod: Pod) -> int | None:
        question = self._world.question(_anew(pod))
        feasible = question.feasible()
        if not feasible.any():
            return None
        scored = scoring.run(question.profile, question.cycle, feasible)
        position, _ = scoring.select_host(scored, question.cycle)
        return self._table.row_of[scored.nodes.node(position).name]

    def _make(self, candidate: _Candidate, rows: list[int]) -> None:
        source = self._table.node(candidate.row).name
        sizes = [_size(self._packed.columns.held(info.uid)) for info in candidate.pods]
        for info in candidate.pods:
            self._world.cache.displace(info)
        for info, size, row in zip(reversed(candidate.pods), reversed(sizes), rows, strict=True):
            self._world.cache.place_on(row, self._world.cache.info(_anew(info.pod)))
            target = self._table.node(row).name
            self.moves.append(GPUMove(info.pod.key, source, target, size / 1000))
            self._moved.add(info.uid)
        self._evicted += candidate.pods

    def moment(self, waiting: list[Pod]) -> GPUMoment:
        """The GPUs at this moment, and how many of the `waiting` pods would still fit nowhere."""
        free, typical = self._free(), self._packed.typical
        fragments = typical.demand._replace(weights=typical.demand.weights * [1.0, 0.0, 0.0])
        unusable = float(potential(free, fragments).sum())
        sizes = sorted({int(asked[2]) for asked in typical.demand.requests if asked[2] > 1})
        whole = (free.left == 1000).sum(axis=1)
        room = {str(size): int((whole // size).sum()) for size in sizes}
        idle = int(free.left.sum())
        return GPUMoment(idle / 1000, round(unusable / 1000, 3), room, self._still_waiting(waiting))

    def _still_waiting(self, waiting: list[Pod]) -> int:
        cache, count = self._world.cache, 0
        with cache.trial():
            for pod in waiting:
                row = self._best_row(pod)
                if row is None:
                    count += 1
                else:
                    cache.place_on(row, cache.info(pod))
        return count


def _size(held: Holding | None) -> int:
    return len(held.devices) * held.milli if held is not None else 0


def _anew(pod: Pod) -> Pod:
    """The pod that the controller would create as a replacement."""
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=""))
