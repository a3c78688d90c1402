"""Placing a group: its pods are taken from the queue and tried together, domain by domain."""

from collections import Counter
from functools import partial
from typing import TypeVar

from moorage.api import podgroup
from moorage.api.node import Node
from moorage.cache.cache import Cache
from moorage.cache.table import NodeTable
from moorage.clock import Clock
from moorage.cycle.attempt import Unschedulable
from moorage.cycle.profile import Profile
from moorage.cycle.scoring import IN_ORDER
from moorage.devices.claim_tracker import SHARED_IN_GROUP
from moorage.framework.cycle import Cycle
from moorage.framework.queued_pod import QueuedPod
from moorage.gang import shortage, topology, transaction
from moorage.gang.foresight import Need, eligible
from moorage.gang.group import Group
from moorage.gang.hierarchy import Branch
from moorage.gang.plugin import DOMAIN
from moorage.gang.topology import Choice, Domain, UnclearDomainError
from moorage.gang.transaction import Misfit, Refused, Trying, Whole
from moorage.gang.tree_placement import TreePlacement
from moorage.gang.trial import Trial
from moorage.observe.observers import Observers
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.scheduler.attempt import Cycles
from moorage.scheduler.placement import Placement, place, unplace
from moorage.scheduler.profiles import Profiles

P = TypeVar("P")


class GangPlacer:
    """Places pods of groups: assumes, reserves, permits. No room is made for single pods."""

    def __init__(
        self,
        cache: Cache,
        queue: SchedulingQueue,
        clock: Clock,
        profiles: Profiles,
        cycles: Cycles,
        observers: Observers,
    ) -> None:
        self._cache = cache
        self._queue = queue
        self._clock = clock
        self._in_force = profiles
        self._cycles = cycles
        self._observers = observers
        self.reconfigured()

    def reconfigured(self) -> None:
        """Use the profiles that are in force now, without their PostFilter."""
        found = self._in_force.by_name
        self._profiles = {name: made.without_post_filter() for name, made in found.items()}

    def take(self, group: Group, popped: QueuedPod) -> list[QueuedPod]:
        """Take all pods of a group that may be attempted out of the queue.

        The popped pod is one of them. They are returned in the order in which to try them.
        """
        now, assumed = self._clock.now(), self._cache.assumed
        others = [uid for uid in group.waiting if uid != popped.info.uid and uid not in assumed]
        self._queue.activate(others, now)
        taken = (self._queue.take(uid, now) for uid in others)
        members = [popped, *(queued for queued in taken if queued is not None)]
        return transaction.in_order(members, self._cache.table)

    def place(self, group: Group, members: list[QueuedPod]) -> Whole[Placement] | Misfit:
        """Place enough of the pods, or none."""
        with self._cache.attempted_together() as undone:
            outcome = self._place(group, members, self)
            if isinstance(outcome, Misfit):
                undone()
        return outcome

    def imagine(
        self, group: Group, members: list[QueuedPod], by_quota: bool, at_least: int = 0
    ) -> Trial | None:
        """Try the same on the present table; nothing stays reserved.

        None if the group, or fewer than `at_least` of its pods, would fit. The caller must run it
        in a trial, which undoes the placements.
        """
        trial = Trial(self._cycles, self._profiles, self._unreserve, by_quota)
        outcome = self._place(group, members, trial, at_least)
        if isinstance(outcome, Misfit):
            return None
        trial.keep(outcome.placed)
        return trial

    def missing(self, group: Group) -> list[QueuedPod]:
        """The pods that must still be placed: no more than the group needs."""
        assumed = self._cache.assumed
        queued = (self._queue.find(uid) for uid in group.waiting if uid not in assumed)
        waiting = transaction.in_order((q for q in queued if q is not None), self._cache.table)
        return waiting[: max(group.minimum - group.scheduled(assumed), 1)]

    def needs(self, group: Group) -> list[Need]:
        """The needs of the pods that must still be placed, one for each class."""
        pods = self.missing(group)
        samples = {queued.info.cls: queued for queued in pods}
        made = []
        for cls, count in Counter(queued.info.cls for queued in pods).items():
            profile: Profile = self._in_force.by_name[cls.sample.spec.scheduler_name]
            rows = eligible(profile, self._cycles.begin(samples[cls], profile))
            made.append(Need(count, dict(cls.requests), rows))
        return made

    def attempt_one(
        self, queued: QueuedPod, nodes: frozenset[str] | None, claims: set[str]
    ) -> Placement | Refused:
        """Place one pod; `claims` are those that pods placed before share with it.

        Ties are broken by taking the first node. So a group shares its nodes with the same few
        other groups, and when one of these leaves as a whole, the room that it leaves is in one
        piece.
        """
        profile = self._profiles[queued.info.pod.spec.scheduler_name]
        cycle = self._cycles.begin(queued, profile)
        if nodes is not None:
            cycle.state[DOMAIN] = nodes
        cycle.state[SHARED_IN_GROUP] = claims
        cycle.state[IN_ORDER] = True
        decided = self._cycles.decide(profile, cycle)
        cycle.timer.step("")
        if isinstance(decided, Unschedulable):
            return Refused(queued, cycle, decided)
        placed = place(profile, cycle, queued, decided)
        return placed if isinstance(placed, Placement) else Refused(queued, cycle, placed)

    def undo(self, placed: Placement) -> None:
        """Undo `attempt_one`."""
        self._unplace(placed.profile, placed.cycle, placed.node)

    def _unreserve(self, profile: Profile, cycle: Cycle, row: int) -> None:
        self._unplace(profile, cycle, cycle.table.node(row))

    def _unplace(self, profile: Profile, cycle: Cycle, node: Node) -> None:
        for error in unplace(profile, cycle, node):
            self._observers.failed(cycle.pod.key, cycle.attempt, error)

    def _place(
        self, group: Group, members: list[QueuedPod], trying: Trying[P], at_least: int = 0
    ) -> Whole[P] | Misfit:
        if group.tree is not None:
            return self._place_tree(group, group.tree, members, trying)
        needed = max(group.minimum - group.scheduled(self._cache.assumed), at_least)
        if len(members) < needed:
            gated = f"Only {len(members)} of its pods can be attempted, the others are gated."
            return Misfit(0, needed, explanation=gated)
        lacking = self._lacking(group)
        if lacking:
            return Misfit(0, needed, explanation=lacking)
        found = topology.wanted_packing(group.object)
        if unclear := topology.unclear_domain(group, self._cache):
            raise UnclearDomainError(unclear)
        occupied = set(topology.homes(group, self._cache).values())
        infos = [queued.info for queued in members]
        choice = topology.choose_domains(self._cache.table, found, infos, needed, occupied)
        if group.object is not None and group.object.topology_key:
            choice = self._fullest_first(choice, members, needed, trying)
        return self._place_in(choice, members, needed, trying)

    def _fullest_first(
        self, choice: Choice, members: list[QueuedPod], needed: int, trying: Trying[P]
    ) -> Choice:
        """Put the domain in which most pods fit first, as Kubernetes' own groups require."""
        if len(members) <= needed or len(choice.domains) < 2:
            return choice
        counts: dict[str, int] = {}
        for domain in choice.domains:
            outcome = self._place_in(Choice([domain], [], anywhere=False), members, needed, trying)
            found = outcome.placed if isinstance(outcome, Whole) else []
            counts[domain.name] = len(found)
            for placed in reversed(found):
                trying.undo(placed)
            if len(found) == len(members):
                break
        ranked = sorted(choice.domains, key=lambda domain: -counts.get(domain.name, 0))
        return choice._replace(domains=ranked)

    def _place_tree(
        self, group: Group, tree: Branch, members: list[QueuedPod], trying: Trying[P]
    ) -> Whole[P] | Misfit:
        waiting: dict[str, list[QueuedPod]] = {}
        for queued in members:
            waiting.setdefault(podgroup.member_key(queued.info.pod), []).append(queued)
        occupied: dict[str, list[str]] = {}
        for uid, pod in group.on_nodes(self._cache.assumed).items():
            node = pod.spec.node_name or self._cache.node_of(uid) or ""
            occupied.setdefault(podgroup.member_key(pod), []).append(node)
        return TreePlacement(self._cache.table, waiting, occupied, trying).place(tree)

    def _place_in(
        self, choice: Choice, members: list[QueuedPod], needed: int, trying: Trying[P]
    ) -> Whole[P] | Misfit:
        """Try one domain after the other; if none fits, return the misfit that came closest."""
        table = self._cache.table
        best = shortage.too_small(choice, [queued.info for queued in members][:needed], table)
        for domain in (*choice.domains, *((None,) if choice.anywhere else ())):
            claims: set[str] = set()
            tried = partial(trying.attempt_one, nodes=_names(table, domain), claims=claims)
            outcome = transaction.place_together(
                members, needed, tried, trying.undo, shortage.explain_misfit
            )
            if isinstance(outcome, Whole):
                for wider in choice.around(domain):
                    tried = partial(trying.attempt_one, nodes=_names(table, wider), claims=claims)
                    outcome = transaction.place_left_over(outcome, tried, trying.undo)
                return outcome
            if domain is not None:
                outcome = outcome._replace(domain=domain.name)
            if best.blocker is None or outcome.fitting > best.fitting:
                best = outcome
        return best

    def _lacking(self, group: Group) -> str:
        found = group.object
        if found is None or not found.spec.min_resources:
            return ""
        infos = (self._cache.pod(uid) for uid in (*group.placed, *group.waiting))
        own = [info for info in infos if info is not None]
        return shortage.lacking(self._cache.table, found.spec.min_resources, own)


def _names(table: NodeTable, domain: Domain | None) -> frozenset[str] | None:
    return None if domain is None else frozenset(table.node(row).name for row in domain.rows)
