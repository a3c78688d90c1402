"""The types of scenario files: what one may write, and the defaults of what is left out."""

from typing import Annotated, Any, Final, Literal

import msgspec

from moorage.config.types import ConfigStruct
from moorage.simulate.size_limits import MOST_NODES, MOST_PODS

API_VERSION: Final = "moorage/v1"
KIND: Final = "Scenario"

Seconds = Annotated[float, msgspec.Meta(ge=0)]
Positive = Annotated[float, msgspec.Meta(gt=0)]
Count = Annotated[int, msgspec.Meta(ge=0)]
NodeCount = Annotated[int, msgspec.Meta(ge=0, le=MOST_NODES)]
PodCount = Annotated[int, msgspec.Meta(ge=0, le=MOST_PODS)]
AtLeastOne = Annotated[int, msgspec.Meta(ge=1)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Quantity = str | int | float
"""An amount of a resource; as in manifests, a number needs no quotes."""


def quantity_text(amount: Quantity) -> str:
    """A quantity as Kubernetes writes it."""
    return amount if isinstance(amount, str) else repr(amount)


class Storm(ConfigStruct, frozen=True):
    """A moment at which a share of the spot nodes is reclaimed at once."""

    at_seconds: Seconds
    share: Share = 1.0


class Spot(ConfigStruct, frozen=True):
    """Nodes that are reclaimed: each after `mean_seconds` on average, or many in a storm.

    `notice_seconds` before it is removed, a node is cordoned and its pods are evicted. A new node
    takes its place `replace_seconds` after that; without `replace_seconds` none does.
    """

    mean_seconds: Positive | None = None
    notice_seconds: Seconds = 120.0
    replace_seconds: Seconds | None = None
    storms: tuple[Storm, ...] = ()


class Failures(ConfigStruct, frozen=True):
    """Nodes that fail, each after `mean_seconds` on average.

    The pods of a failed node are created again `evict_seconds` later. The node is back, empty,
    `repair_seconds` after it failed.
    """

    mean_seconds: Positive
    repair_seconds: Seconds = 3600.0
    evict_seconds: Seconds = 300.0


class NodeShape(ConfigStruct, frozen=True):
    """Equal nodes, dealt round-robin over `zones`."""

    name: str = "node"
    cpu: Quantity = ""
    memory: Quantity = ""
    pods: Quantity = "110"
    gpu: Count = 0
    gpu_model: str = ""
    resources: dict[str, Quantity] = msgspec.field(default_factory=dict)
    price_per_hour: Seconds = 0.0
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    taints: tuple[str, ...] = ()
    zones: tuple[str, ...] = ()
    spot: Spot | None = None
    failures: Failures | None = None


class StandingShape(NodeShape, frozen=True):
    """Nodes that are there from the start."""

    count: NodeCount = 1


class GrowingShape(NodeShape, frozen=True):
    """Nodes that an autoscaler may start: at most `most`, each ready after `start_seconds`.

    `count` is read so that it can be refused with the remedy.
    """

    count: NodeCount | None = None
    most: AtLeastOne = 100
    start_seconds: Seconds = 60.0


class Autoscaler(ConfigStruct, frozen=True):
    """Starts nodes for pending pods, and removes its own nodes that were empty long enough."""

    nodes: tuple[GrowingShape, ...]
    every_seconds: Positive = 10.0
    idle_seconds: Seconds = 600.0


class TableFile(ConfigStruct, frozen=True):
    """A table in a known format, or any other: `columns` maps our column names to the table's."""

    file: str
    format: Literal["moorage", "openb", "philly"] = "moorage"
    columns: dict[str, str] = msgspec.field(default_factory=dict)


class Cluster(ConfigStruct, frozen=True):
    """Where the nodes come from; all that is named is joined."""

    nodes: tuple[StandingShape, ...] = ()
    tables: tuple[TableFile, ...] = ()
    manifests: tuple[str, ...] = ()
    autoscaler: Autoscaler | None = None


class RunningTime(ConfigStruct, frozen=True):
    """How long pods run: always `mean_seconds`, or drawn with that mean."""

    mean_seconds: Positive
    distribution: Literal["fixed", "exponential", "lognormal", "uniform"] = "exponential"
    sigma: Positive = 1.0


class PodShape(ConfigStruct, frozen=True):
    """Pods with equal requests; with `gang`, that many arrive together as one gang.

    Of the shapes of a generator, each is drawn as often as its `weight` says, relative to the sum.
    """

    name: str = "pod"
    weight: Positive = 1.0
    namespace: str = "default"
    cpu: Quantity = ""
    memory: Quantity = ""
    gpu: Count = 0
    gpu_milli: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 1000
    gpu_model: str = ""
    priority: int = 0
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    node_selector: dict[str, str] = msgspec.field(default_factory=dict)
    tolerations: tuple[str, ...] = ()
    scheduler_name: str = ""
    usage: Share = 1.0
    gang: Count = 0
    runs: RunningTime | None = None


class Diurnal(ConfigStruct, frozen=True):
    """The rate over a day: highest at `peak_hour`, and `low` times that twelve hours later."""

    peak_hour: Annotated[float, msgspec.Meta(ge=0, lt=24)] = 14.0
    low: Share = 0.2


class Bursts(ConfigStruct, frozen=True):
    """`pods` pods within `over_seconds`, every `every_seconds`."""

    every_seconds: Positive
    pods: AtLeastOne
    over_seconds: Seconds = 0.0


class Generator(ConfigStruct, frozen=True):
    """Pods drawn at random, from a seed: a Poisson stream, by time of day, and bursts."""

    seconds: Positive
    pods: tuple[PodShape, ...]
    from_seconds: Seconds = 0.0
    per_hour: Seconds = 0.0
    diurnal: Diurnal | None = None
    bursts: Bursts | None = None


class Trace(TableFile, frozen=True):
    """Pods of a table.

    `protocol: fgd` uses an openb trace as the published experiments do: pods are shuffled and drawn
    again until they ask for `load` times all GPUs; one arrives per second, and none ever completes.
    From a Philly trace it takes the jobs submitted within `seconds` of `start`; a job is a gang of
    pods with at most eight GPUs each.
    """

    protocol: Literal["times", "fgd"] = "times"
    load: Positive = 1.3
    start: str = ""
    seconds: Positive | None = None
    cpu_per_gpu: Quantity = "4"
    memory_per_gpu: Quantity = "32Gi"
    time_scale: Positive = 1.0


class Manifests(ConfigStruct, frozen=True):
    """Pods and workloads from manifests, from `at_seconds` on, each for a time or for ever."""

    files: tuple[str, ...]
    at_seconds: Seconds = 0.0
    runs_seconds: Seconds | None = None


class Scale(ConfigStruct, frozen=True):
    """The number of replicas from a time on."""

    at_seconds: Seconds
    replicas: PodCount


class Deployment(ConfigStruct, frozen=True):
    """Replicas whose number changes over time."""

    pod: PodShape
    scale: tuple[Scale, ...]


class CronJob(ConfigStruct, frozen=True):
    """Pods created by a cron schedule (minute hour day month weekday), in the first `seconds`."""

    schedule: str
    pod: PodShape
    seconds: Positive
    parallelism: AtLeastOne = 1


class Arrivals(ConfigStruct, frozen=True):
    """Where the pods come from; all that is named is joined."""

    traces: tuple[Trace, ...] = ()
    generators: tuple[Generator, ...] = ()
    manifests: tuple[Manifests, ...] = ()
    deployments: tuple[Deployment, ...] = ()
    cron_jobs: tuple[CronJob, ...] = ()


class PodsConfig(ConfigStruct, frozen=True):
    """What happens to pods that are stopped."""

    stop_seconds: Seconds = 0.0
    restart_seconds: Seconds = 0.0
    checkpoint_seconds: Seconds | None = None
    retry: bool = True


class KpiConfig(ConfigStruct, frozen=True):
    """The targets that KPIs are measured against."""

    wait_target_seconds: Seconds = 60.0
    max_skew: AtLeastOne = 1


class ScenarioConfig(ConfigStruct, frozen=True):
    """A scenario file."""

    api_version: str = API_VERSION
    kind: str = KIND
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    question: str = ""
    cluster: Cluster = Cluster()
    arrivals: Arrivals = Arrivals()
    pods: PodsConfig = PodsConfig()
    kpis: KpiConfig = KpiConfig()
    schedulers: tuple[str, ...] = ()
    start: str = "2026-01-05T00:00:00"
    horizon_seconds: Positive | None = None
