"""What KPIs depend on besides the run itself."""

import msgspec


class TypicalPod(msgspec.Struct, frozen=True):
    """A kind of pod that the cluster is for, and how often it comes."""

    requests: dict[str, float]
    weight: float = 1.0


class KpiSettings(msgspec.Struct, frozen=True):
    """Targets of a run, and how to measure it.

    `slo_wait_seconds` is how long a pod may wait. `max_skew` is how many more pods of a workload
    one zone may hold than another. Curves have at most `samples` points, at first `sample_seconds`
    apart. `typical` are the pods that fragmentation refers to.
    """

    slo_wait_seconds: float = 60.0
    max_skew: int = 1
    samples: int = 240
    sample_seconds: float = 1.0
    typical: tuple[TypicalPod, ...] = ()
