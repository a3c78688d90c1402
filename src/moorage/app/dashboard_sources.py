"""What the dashboard of a scheduler shows: its cache, its queue, its records and its features."""

from collections.abc import Callable

from moorage import __version__
from moorage.dashboard.sources import About, ClusterSource, Explain, QueueSource, Sources
from moorage.observe.decision_records import DecisionRecords
from moorage.scheduler.scheduler import Scheduler


def scheduler_sources(
    scheduler: Scheduler,
    records: DecisionRecords,
    mode: str,
    *,
    now: Callable[[], float] | None = None,
    instance: str = "",
    live: bool = True,
    leader: Callable[[], bool] = lambda: True,
    generation: Callable[[], int] = lambda: 1,
    explain: Explain | None = None,
) -> Sources:
    """The sources of one scheduler; `records` are those that observe it."""
    tell_time = scheduler.clock.now if now is None else now

    def about() -> About:
        return About(
            mode=mode,
            version=__version__,
            instance=instance,
            profiles=tuple(scheduler.profiles),
            generation=generation(),
            now=tell_time(),
            live=live,
            leader=leader(),
            can={"explain": explain is not None, "whatif": False, "timeline": True},
        )

    return Sources(
        about=about,
        now=tell_time,
        cluster=ClusterSource(scheduler.cache, scheduler.gate.later),
        queue=QueueSource(scheduler.queue, scheduler.waiting),
        records=records,
        explain=explain,
    )
