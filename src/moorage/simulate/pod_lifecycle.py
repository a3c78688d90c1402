"""The life of a pod: it arrives, runs for its time and completes, or is stopped and recreated."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

import msgspec

from moorage.api.meta import ObjectMeta
from moorage.api.pod import Pod, PodSpec, PodStatus
from moorage.api.podgroup import PodGroup, PodGroupSpec
from moorage.clock import VirtualCall, VirtualClock
from moorage.kpi.meter import Meter, PodFacts
from moorage.memory.object_registry import uid_of
from moorage.simulate.pod_template import PodTemplate, member_labels
from moorage.simulate.scenario import Arrival, PodRules
from moorage.simulate.simulated_server import SimulatedServer
from moorage.watch.api_resources import PODS, RESOURCES

POD_GROUPS: Final = RESOURCES["podgroups"]
PENDING: Final = PodStatus(phase="Pending")
MOST_TEMPLATES: Final = 16_384
REJECTED_SECONDS: Final = 1.0
"""How soon a controller replaces a pod that a kubelet refused."""


def _nothing() -> None:
    """Default of `pod_waits`: do nothing."""


class _Job:
    """A pod of the scenario, across its incarnations."""

    __slots__ = ("arrival", "done", "end", "incarnation", "key", "node", "since", "was_placed")

    def __init__(self, arrival: Arrival) -> None:
        self.arrival = arrival
        self.key = f"{arrival.template.namespace}/{arrival.name}"
        self.incarnation = 0
        self.done = 0.0
        """Seconds of work that are saved: a new incarnation does not repeat them."""
        self.node = ""
        self.since = 0.0
        self.was_placed = False
        self.end: VirtualCall | None = None


class PodLifecycle:
    """Every pod from its arrival to its end; the kubelet of all nodes.

    `waiting` counts pods that have no node, `finite` those on nodes that will end by themselves,
    `returning` those that were stopped and are to come again, `departures` those that will not be
    wanted any more at some time. `news` counts what leads somewhere: pods that end or depart, and
    placements, but for those of pods that run for ever and come again. `pod_waits` is told when one
    waits.
    """

    def __init__(
        self,
        server: SimulatedServer,
        clock: VirtualClock,
        meter: Meter,
        rules: PodRules,
        scheduler: str,
        start: float,
    ) -> None:
        self._server = server
        self._clock = clock
        self._meter = meter
        self._rules = rules
        self._scheduler = scheduler
        self._start = start
        self.pod_waits: Callable[[], None] = _nothing
        self._jobs: dict[str, _Job] = {}
        self._on_node: dict[str, dict[str, _Job]] = {}
        self._groups: dict[str, int] = {}
        self.news = 0
        self._pending: dict[str, _Job] = {}
        self.finite = 0
        self.returning = 0
        self.departures = 0
        self._drained = asyncio.Event()
        self._templates: dict[int, tuple[PodTemplate, PodSpec, PodFacts]] = {}
        server.kubelet = self

    @property
    def waiting(self) -> int:
        """The number of pods without a node."""
        return len(self._pending)

    @property
    def waiting_in_words(self) -> str:
        """The number of pods without a node, and of those that KPIs count as placed before."""
        waiting = len(self._pending)
        evicted = sum(job.was_placed for job in self._pending.values())
        before = f" ({evicted} had a node and lost it)" if evicted else ""
        return f"{waiting} pod waits{before}" if waiting == 1 else f"{waiting} pods wait{before}"

    async def until_drained(self) -> None:
        """Return when no running pod will complete any more."""
        while self.finite:
            self._drained.clear()
            await self._drained.wait()

    def arrive(self, arrival: Arrival) -> None:
        """Create the pod of an arrival, and schedule its withdrawal if it has an `until`."""
        job = _Job(arrival)
        self._jobs[job.key] = job
        group, template = arrival.group, arrival.template
        alone = not (group or arrival.min_member)
        facts = self._known(template)[2] if alone else template.facts(group, arrival.min_member)
        self._meter.pod_arrived(self._clock.now(), job.key, facts)
        if group:
            self._join(f"{template.namespace}/{group}", arrival)
        self._create(job, arrival.node)
        if arrival.until is not None:
            self.departures += 1
            self._clock.call_at(self._start + arrival.until, lambda: self._depart(job.key))

    def _depart(self, key: str) -> None:
        """Withdraw a pod, whether it runs or waits."""
        self.departures -= 1
        job = self._jobs.pop(key, None)
        if job is None:
            return
        self.news += 1
        if job.node:
            self._take_off(job)
        self._pending.pop(key, None)
        self._meter.pod_withdrawn(self._clock.now(), key)
        self._leave(job)
        self._server.remove(PODS, key)

    def bound(self, pod: Pod) -> None:
        """Start a pod that was bound to a node, or reject it if the node has no room."""
        job, now = self._jobs[pod.key], self._clock.now()
        if not self._meter.has_room(pod.spec.node_name, job.arrival.template.requests):
            self._reject(job, pod)
            return
        job.node, job.since = pod.spec.node_name, now
        self._pending.pop(job.key, None)
        self._meter.pod_placed(now, job.key, job.node)
        self._on_node.setdefault(job.node, {})[job.key] = job
        duration = job.arrival.duration
        self.news += duration is not None or not job.was_placed
        job.was_placed = True
        if duration is not None:
            self.finite += 1
            left = max(0.0, duration - job.done)
            job.end = self._clock.call_at(now + left, lambda: self._complete(job))

    def deleted(self, pod: Pod, grace_period_seconds: int | None) -> None:
        """Stop a pod that is being deleted; a new incarnation does the rest of its work."""
        if pod.is_terminating:
            return
        job = self._jobs.get(pod.key)
        seconds = self._rules.stop_seconds
        if grace_period_seconds is not None:
            seconds = min(seconds, grace_period_seconds)
        if job is None or not job.node or not seconds:
            self._evicted(pod.key, pod.uid)
            return
        self._server.terminate(pod)
        self._clock.call_at(self._clock.now() + seconds, lambda: self._evicted(pod.key, pod.uid))

    def lose_node(self, node: str, evict_seconds: float) -> None:
        """Stop the pods of a lost node; they are created again `evict_seconds` later."""
        for job in list(self._on_node.get(node, {}).values()):
            self._stop(job, evict_seconds)

    def drain(self, node: str, seconds: float) -> None:
        """Evict the pods of a node with a grace period of `seconds`."""
        for job in list(self._on_node.get(node, {}).values()):
            pod = self._server.pod(job.key)
            if pod is not None:
                self.deleted(pod, int(seconds))

    def pending(self) -> list[Pod]:
        """The pods without a node that are not being deleted, in order of creation."""
        found = (self._server.pod(key) for key in self._pending)
        return [pod for pod in found if pod is not None and not pod.is_terminating]

    def pods_on(self, node: str) -> int:
        """The number of pods on a node."""
        return len(self._on_node.get(node, ()))

    def _evicted(self, key: str, uid: str) -> None:
        job, pod = self._jobs.get(key), self._server.pod(key)
        if job is None or pod is None or pod.uid != uid:
            return
        if job.node:
            self._stop(job)
        else:
            del self._pending[key]
            self._server.remove(PODS, key)
            self._create_again(job)

    def _complete(self, job: _Job) -> None:
        self.news += 1
        del self._jobs[job.key]
        self._take_off(job)
        self._meter.pod_completed(self._clock.now(), job.key)
        self._server.remove(PODS, job.key)
        self._leave(job)

    def _reject(self, job: _Job, pod: Pod) -> None:
        """Fail a pod that its node has no room for, as a kubelet does, and create it again."""
        self._meter.rejections += 1
        self._meter.settled(self._clock.now())
        status = PodStatus(phase="Failed", reason="OutOfcpu")
        self._server.put(PODS, msgspec.structs.replace(pod, status=status))
        self._server.remove(PODS, job.key)
        del self._pending[job.key]
        self._create_again(job, REJECTED_SECONDS)

    def _stop(self, job: _Job, delay: float = 0.0) -> None:
        """Stop a pod before its work is done; with `retry`, create it again later."""
        now = self._clock.now()
        ran = now - job.since
        self._take_off(job)
        kept = self._checkpointed(ran)
        job.done += kept
        self._meter.pod_stopped(now, job.key, work_lost=ran - kept)
        self._server.remove(PODS, job.key)
        if self._rules.retry:
            self._create_again(job, delay)
        else:
            del self._jobs[job.key]
            self._meter.pod_withdrawn(now, job.key)
            self._leave(job)

    def _checkpointed(self, ran: float) -> float:
        every = self._rules.checkpoint_seconds
        if every is None:
            return 0.0
        return ran // every * every if every else ran

    def _take_off(self, job: _Job) -> None:
        """Remove a pod from its node, and cancel its completion."""
        if job.end is not None:
            job.end.cancel()
            job.end = None
            self.finite -= 1
            if not self.finite:
                self._drained.set()
        del self._on_node[job.node][job.key]
        job.node = ""

    def _create_again(self, job: _Job, delay: float = 0.0) -> None:
        job.incarnation += 1
        seconds = delay + self._rules.restart_seconds
        if not seconds:
            self._create(job)
            return
        self.returning += 1

        def back() -> None:
            self.returning -= 1
            if self._jobs.get(job.key) is job:
                self._create(job)

        self._clock.call_at(self._clock.now() + seconds, back)

    def _create(self, job: _Job, node: str = "") -> None:
        arrival = job.arrival
        template = arrival.template
        self._pending[job.key] = job
        spec = self._known(template)[1]
        metadata = ObjectMeta(
            name=arrival.name,
            namespace=template.namespace,
            uid=uid_of(PODS.plural, template.namespace, arrival.name, job.incarnation),
            labels=member_labels(template.labels, arrival.group),
            annotations=template.annotations,
            creation_timestamp=datetime.fromtimestamp(self._clock.now(), UTC),
        )
        if node:
            spec = msgspec.structs.replace(spec, node_name=node)
        pod = self._server.put(PODS, Pod(metadata=metadata, spec=spec, status=PENDING))
        if node and isinstance(pod, Pod):
            self.bound(pod)
        else:
            self.pod_waits()

    def _known(self, template: PodTemplate) -> tuple[PodTemplate, PodSpec, PodFacts]:
        """What all pods of a template share: the spec with a scheduler name, and the KPI facts."""
        known = self._templates.get(id(template))
        if known is not None and known[0] is template:
            return known
        spec = template.spec
        if not spec.scheduler_name:
            spec = msgspec.structs.replace(spec, scheduler_name=self._scheduler)
        if len(self._templates) >= MOST_TEMPLATES:
            self._templates.clear()
        known = self._templates[id(template)] = template, spec, template.facts()
        return known

    def _join(self, key: str, arrival: Arrival) -> None:
        members = self._groups.get(key, 0)
        self._groups[key] = members + 1
        if not members:
            at = datetime.fromtimestamp(self._clock.now(), UTC)
            metadata = ObjectMeta(
                name=arrival.group,
                namespace=arrival.template.namespace,
                uid=f"group/{key}",
                creation_timestamp=at,
            )
            spec = PodGroupSpec(min_member=arrival.min_member)
            self._server.put(POD_GROUPS, PodGroup(metadata=metadata, spec=spec))

    def _leave(self, job: _Job) -> None:
        if not job.arrival.group:
            return
        key = f"{job.arrival.template.namespace}/{job.arrival.group}"
        self._groups[key] -= 1
        if not self._groups[key]:
            del self._groups[key]
            self._server.remove(POD_GROUPS, key)
