"""The cluster as it would be if Moorage had made every decision.

Nodes, volumes, quotas, and the arrival and end of pods are the true cluster's. Where pods go is
decided here, by a whole scheduler on an in-memory API server. A pod that is evicted here is pending
again, and ends when the true pod ends. So the two worlds drift apart, and their KPIs are compared.
"""

import random
from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

from moorage.api.node import Node
from moorage.api.pod import Pod, PodStatus
from moorage.app.assembly import OPTIONAL, assemble
from moorage.clock import Clock
from moorage.cycle.profile import Profile
from moorage.scheduler.feature import Feature
from moorage.scheduler.intake import FOLLOWED
from moorage.shadow.pod_facts import MeterBook
from moorage.simulate.attempt_count import AttemptCount
from moorage.simulate.simulated_server import SilentRecorder, SimulatedServer
from moorage.watch.api_resources import PODS, Resource
from moorage.watch.reflector import Change

EVERYTHING = tuple(
    {each.plural for each in FOLLOWED} | {each.plural for group in OPTIONAL for each in group}
)


class DriftingWorld(Feature):
    """The world of one configuration; a feature of the scheduler that follows the true cluster."""

    hears: ClassVar[tuple[str, ...]] = EVERYTHING

    def __init__(
        self, clock: Clock, profiles: Mapping[str, Profile], book: MeterBook, seed: int = 0
    ) -> None:
        self._clock = clock
        self.book = book
        self._names = tuple(profiles)
        self._server = SimulatedServer(clock)
        self._server.kubelet = self
        self._uids: dict[str, str] = {}
        """The uid of the true pod, by key."""
        self._again = 0
        self._attempts = AttemptCount(book.meter)
        self.scheduler = assemble(
            self._server,
            profiles,
            clock=clock,
            rng=random.Random(seed),
            observers=(self._attempts,),
            recorder=SilentRecorder(self._server, clock, instance="shadow"),
        )
        self.scheduler.active.clear()

    @property
    def errors(self) -> tuple[str, ...]:
        """The errors of attempts, and the plugin failures that are the error of no attempt."""
        return self._attempts.told(self.scheduler.profiles.values())

    def begin(self) -> None:
        """Start scheduling; call it once the true cluster has been read."""
        self.scheduler.active.set()
        self.scheduler.wake()

    def after(self, change: Change, resource: Resource) -> None:
        old, new = change.old, change.new
        if resource.plural == PODS.plural:
            self._pod(old, new)
            return
        now = self._clock.now()
        if new is not None:
            self._server.put(resource, new)
            if isinstance(new, Node):
                self.book.node(now, new)
        elif old is not None:
            self._server.remove(resource, old.key)
            if isinstance(old, Node):
                self.book.node_gone(now, old.name)

    def bound(self, pod: Pod) -> None:
        """A pod was bound here."""
        self.book.placed(self._clock.now(), self._uids.get(pod.key, ""), pod.spec.node_name)

    def deleted(self, pod: Pod, grace_period_seconds: int | None) -> None:
        """A pod was evicted here: create it again, as its controller would."""
        uid = self._uids.get(pod.key)
        self._server.remove(PODS, pod.key)
        if uid is None:
            return
        self.book.stopped(self._clock.now(), uid)
        self._again += 1
        metadata = msgspec.structs.replace(pod.metadata, uid=f"{uid}/{self._again}")
        self._server.put(PODS, self._waiting(msgspec.structs.replace(pod, metadata=metadata)))

    def _pod(self, old: Any, new: Any) -> None:
        if isinstance(new, Pod) and not new.is_terminal:
            if self._uids.get(new.key) != new.uid:
                self._arrived(new)
            elif isinstance(old, Pod) and _differs(old, new):
                self._changed(new)
        elif isinstance(gone := new or old, Pod) and self._uids.get(gone.key) == gone.uid:
            del self._uids[gone.key]
            self._server.remove(PODS, gone.key)
            completed = gone.status.phase == "Succeeded"
            self.book.gone(self._clock.now(), gone.uid, completed=completed)

    def _arrived(self, pod: Pod) -> None:
        now = self._clock.now()
        self._uids[pod.key] = pod.uid
        self.book.arrived(now, pod)
        if pod.spec.node_name:
            self._server.put(PODS, pod)
            self.book.placed(now, pod.uid, pod.spec.node_name)
        else:
            self._server.put(PODS, self._waiting(pod))

    def _changed(self, pod: Pod) -> None:
        """Take over changed labels and gates; the pod stays where it is here."""
        here = self._server.pod(pod.key)
        if here is not None:
            spec = msgspec.structs.replace(here.spec, scheduling_gates=pod.spec.scheduling_gates)
            metadata = msgspec.structs.replace(here.metadata, labels=pod.metadata.labels)
            self._server.put(PODS, msgspec.structs.replace(here, metadata=metadata, spec=spec))

    def _waiting(self, pod: Pod) -> Pod:
        """The pod without the results of another scheduler, for a profile of ours."""
        scheduler = pod.spec.scheduler_name
        name = scheduler if scheduler in self._names else self._names[0]
        spec = msgspec.structs.replace(pod.spec, node_name="", scheduler_name=name)
        return msgspec.structs.replace(pod, spec=spec, status=PodStatus(phase="Pending"))


def _differs(old: Pod, new: Pod) -> bool:
    gates = old.spec.scheduling_gates != new.spec.scheduling_gates
    return gates or old.metadata.labels != new.metadata.labels
