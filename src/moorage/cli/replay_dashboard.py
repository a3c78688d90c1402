"""A recording on a dashboard: the cluster at a moment of a replay, and the decisions before it."""

from collections.abc import Iterator
from typing import Any

from moorage import __version__
from moorage.api.pod import Pod
from moorage.cache.podinfo import PodInfo
from moorage.cli.finished_run import FinishedRun
from moorage.cycle.attempt import Decision, Unschedulable
from moorage.dashboard.compare_view import CompareSource
from moorage.dashboard.node_measures import ProfileMeasures
from moorage.dashboard.plugin_rows import plugin_rows
from moorage.dashboard.pod_verdicts import PodVerdicts
from moorage.dashboard.sources import About, ClusterSource, QueueSource, Sources
from moorage.framework.eviction import BEING_EVICTED
from moorage.framework.verdicts import Nominated
from moorage.observe.decision_records import DecisionRecords
from moorage.observe.records import Attempt, Evicted, Result
from moorage.queue.backoff import Backoff
from moorage.queue.scheduling_queue import SchedulingQueue
from moorage.recording.replay import Made, Replay
from moorage.scheduler.queue_order import queue_for


class ReplayedRecords:
    """Keeps replayed attempts as decision records."""

    def __init__(self) -> None:
        self.records = DecisionRecords()
        self._tries: dict[str, int] = {}

    def made(self, made: Made) -> None:
        """Keep one attempt."""
        entry, uid = made.entry, made.entry.uid
        self._tries[uid] = self._tries.get(uid, 0) + 1
        self.records.attempted(
            Attempt(
                id=entry.id,
                pod=made.info.pod.key,
                uid=uid,
                profile=entry.profile,
                version=entry.version,
                time=entry.now,
                attempts=self._tries[uid],
                **_came_out(made),
            )
        )
        if isinstance(made.decided, Unschedulable) and made.decided.nominated is not None:
            for chosen in _chosen(made, made.decided.nominated):
                self.records.evicted(chosen)


def _chosen(made: Made, nominated: Nominated) -> Iterator[Evicted]:
    """The victims chosen by an attempt; a recording has no answers to the evictions."""
    preemptor, leaving = made.info, made.cycle.shared.get(BEING_EVICTED, ())
    for victim in nominated.victims:
        if victim.is_terminating or victim.uid in leaving:
            continue
        yield Evicted(
            pod=victim.key,
            uid=victim.uid,
            node=nominated.node,
            priority=victim.spec.priority or 0,
            by=preemptor.pod.key,
            by_uid=preemptor.uid,
            by_priority=preemptor.priority,
            what="pod",
            room_on=nominated.node,
            profile=made.entry.profile,
            way="chosen",
            time=made.entry.now,
        )


def _came_out(made: Made) -> dict[str, Any]:
    decided = made.decided
    if isinstance(decided, Decision):
        return {
            "result": Result.SCHEDULED,
            "node": decided.node,
            "score": decided.score,
            "feasible": decided.feasible,
            "evaluated": decided.evaluated,
            "scores": decided.parts,
            "runners_up": decided.runners_up,
        }
    if isinstance(decided, Unschedulable):
        nominated = decided.nominated
        return {
            "result": Result.UNSCHEDULABLE,
            "message": decided.message,
            "nominated": "" if nominated is None else nominated.node,
            "victims": 0 if nominated is None else len(nominated.victims),
        }
    return {"result": Result.ERROR, "message": str(made.outcome)}


def serve_replay(replay: Replay, records: DecisionRecords, port: int) -> None:
    """Serve the current moment of a replay, until Ctrl-C."""
    FinishedRun(port).serve_sources(replay_sources(replay, records))


def replay_sources(replay: Replay, records: DecisionRecords) -> Sources:
    """The sources of a replay; waiting pods are queued in the order that plugins give."""
    by_key = {info.pod.key: info.pod for info in replay.pods.values()}
    now = replay.now

    def known(key: str) -> Pod | None:
        return by_key.get(key)

    return Sources(
        about=lambda: About(
            mode="replay",
            version=__version__,
            profiles=tuple(replay.profiles),
            now=now,
            live=False,
            can={"explain": False, "compare": True, "timeline": True},
        ),
        now=lambda: now,
        cluster=ClusterSource(
            replay.cache,
            pod=known,
            verdicts=PodVerdicts(replay.cache, lambda: replay.profiles, lambda: now),
            measured=ProfileMeasures(lambda: replay.profiles),
        ),
        queue=QueueSource(_queue(replay)),
        records=records,
        compare=CompareSource(plugins=lambda: plugin_rows(replay.profiles, None)),
    )


def _queue(replay: Replay) -> SchedulingQueue:
    stable = [profile for profile in replay.profiles.values() if not profile.version]
    queue = queue_for(stable, lambda: replay.now, Backoff(1.0, 10.0))
    names = {profile.scheduler_name for profile in stable}
    for info in replay.pods.values():
        if _waits(replay, info) and info.pod.spec.scheduler_name in names:
            queue.add(info, _created(info, replay.now))
    return queue


def _waits(replay: Replay, info: PodInfo) -> bool:
    return replay.cache.node_of(info.uid) is None and not info.pod.is_terminal


def _created(info: PodInfo, now: float) -> float:
    created = info.pod.metadata.creation_timestamp
    return now if created is None else created.timestamp()
