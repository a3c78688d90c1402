"""What KPIs depend on beside the run itself."""

import msgspec


class TypicalPod(msgspec.Struct, frozen=True):
    """A kind of pod that the cluster is there for, and how often it comes."""

    requests: dict[str, float]
    weight: float = 1.0


class KpiSettings(msgspec.Struct, frozen=True):
    """Targets and measures of a run.

    `slo_wait_seconds` is how long a pod may wait; `max_skew` how much more of a workload one zone
    may hold than another. Of the curves at most `samples` points are kept, `sample_seconds` apart
    at first. `typical` are the pods that fragmentation is about.
    """

    slo_wait_seconds: float = 60.0
    max_skew: int = 1
    samples: int = 240
    sample_seconds: float = 1.0
    typical: tuple[TypicalPod, ...] = ()
