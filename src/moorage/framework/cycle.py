"""One attempt's state, and what plugins can see of the cluster (kube's CycleState and Handle)."""

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol, TypeVar

from moorage.api.meta import KubeObject
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.cache.cache import Cache
from moorage.cache.podinfo import PodInfo
from moorage.cache.table import NodeTable
from moorage.framework.extenders import NO_EXTENDERS, Extenders
from moorage.framework.verdicts import Rejection

PluginEntry = TypeVar("PluginEntry", bound=tuple[Any, ...])


Step = tuple[str, str, float, float]
"""An extension point, how it ended, when it began, and the seconds it took."""


class Timer(Protocol):
    """Hears of one attempt; never raises.

    Where it is `sampled`, plugins are timed one by one; where it is `detailed`, somebody wants to
    know every verdict and the best scores, too; a `trace_id` ties the attempt to a trace that is
    kept elsewhere.
    """

    @property
    def sampled(self) -> bool: ...
    @property
    def detailed(self) -> bool: ...
    @property
    def trace_id(self) -> str: ...
    @property
    def trace(self) -> Sequence[Step]:
        """The steps that have ended."""
        ...

    def step(self, point: str, ended: str = "Success") -> None:
        """An extension point begins, or none does; `ended`: the status of the one before."""

    def each(self, plugins: Iterable[PluginEntry]) -> Iterable[PluginEntry]:
        """The plugins about to run, by name, at the point that has begun."""
        ...

    def verdicts(self, refusals: Sequence[tuple[str, str, int]]) -> None:
        """Which plugin refused how many nodes, and why."""

    def scores(self, best: Sequence[tuple[str, int, dict[str, int]]]) -> None:
        """The best nodes, what they scored, and by which plugins."""


class NoTimer:
    """Nobody listens."""

    sampled = detailed = False
    trace_id = ""
    trace: Sequence[Step] = ()

    def step(self, point: str, ended: str = "Success") -> None:
        pass

    def each(self, plugins: Iterable[PluginEntry]) -> Iterable[PluginEntry]:
        return plugins

    def verdicts(self, refusals: Sequence[tuple[str, str, int]]) -> None:
        pass

    def scores(self, best: Sequence[tuple[str, int, dict[str, int]]]) -> None:
        pass


NO_TIMER: Final = NoTimer()


T = TypeVar("T", bound=KubeObject)


class Random(Protocol):
    """The part of `random.Random` that deciding needs; seeded by whoever runs the cycle."""

    def randrange(self, stop: int, /) -> int: ...


class Client(Protocol):
    """What Reserve, PreBind and Bind plugins may ask of the API server."""

    async def bind(self, namespace: str, name: str, uid: str, node: str) -> None: ...

    async def get(self, resource: str, namespace: str, name: str) -> dict[str, Any]: ...

    async def patch(
        self,
        resource: str,
        namespace: str,
        name: str,
        patch: dict[str, Any],
        *,
        subresource: str = "",
    ) -> dict[str, Any]: ...

    async def create(self, resource: str, obj: dict[str, Any]) -> dict[str, Any]: ...

    async def update(self, resource: str, obj: dict[str, Any]) -> dict[str, Any]: ...

    async def wait_until(self, check: Callable[[], bool], seconds: float) -> bool:
        """Ask `check` as the cache changes, at least every second, until it says True; False
        once so many seconds have passed without that. What `check` raises ends the wait."""
        ...


class Listener(Protocol):
    """A plugin that wants to hear of the pods that come and go in a trial."""

    def add_pod(self, cycle: "Cycle", pod: Pod, added: PodInfo, node: Node) -> Any: ...

    def remove_pod(self, cycle: "Cycle", pod: Pod, removed: PodInfo, node: Node) -> Any: ...


class RowFilter(Protocol):
    """Who refuses a row; `filters` are the plugins that are asked, in order."""

    @property
    def filters(self) -> tuple[Any, ...]: ...

    def __call__(self, row: int) -> Rejection | None: ...


class Cycle:
    """kube-scheduler's CycleState and Handle in one: lives as long as one attempt.

    `state` is the plugins' own: write under your plugin's name in PreFilter, read it later.
    `generation` is that of the configuration that decides.
    """

    __slots__ = (
        "attempt",
        "cache",
        "client",
        "extenders",
        "generation",
        "incoming",
        "listeners",
        "now",
        "pod",
        "random",
        "refuses",
        "shared",
        "state",
        "table",
        "timer",
    )

    def __init__(
        self,
        cache: Cache,
        incoming: PodInfo,
        *,
        random: Random,
        now: float = 0.0,
        attempt: str = "",
        generation: int = 0,
        shared: dict[str, Any] | None = None,
        client: Client | None = None,
        timer: Timer = NO_TIMER,
        extenders: Extenders = NO_EXTENDERS,
    ) -> None:
        self.cache = cache
        self.table: NodeTable = cache.table
        self.consider(incoming)
        self.random = random
        self.now = now
        self.attempt = attempt
        self.generation = generation
        self.shared: dict[str, Any] = {} if shared is None else shared
        self.client = client
        self.timer = timer
        self.extenders = extenders
        self.state: dict[str, Any] = {}
        self.listeners: list[tuple[str, Listener]] = []
        """The PreFilter plugins, by name, that keep state which a trial must bring up to date."""
        self.refuses: RowFilter = NOBODY
        """For PostFilter: who refuses a row as things stand now, a trial's changes included."""

    def consider(self, incoming: PodInfo) -> None:
        """Decide about this pod from now on: `pod`, and what was worked out about it."""
        self.incoming = incoming
        self.pod: Pod = incoming.pod

    @contextmanager
    def trial(self) -> Iterator[None]:
        """Pods that are placed and displaced inside are back at the end, and plugins' state too."""
        kept = {name: copy.deepcopy(self.state.get(name)) for name, _ in self.listeners}
        try:
            with self.cache.trial():
                yield
        finally:
            self.state.update(kept)

    def place(self, row: int, pod: PodInfo) -> None:
        """Count a pod on a row for the length of a trial."""
        self._expect_trial()
        self.cache.place_on(row, pod)
        for _, plugin in self.listeners:
            plugin.add_pod(self, self.pod, pod, self.table.node(row))

    def displace(self, row: int, pod: PodInfo) -> None:
        """Stop counting a pod of a row for the length of a trial."""
        self._expect_trial()
        self.cache.displace(pod)
        for _, plugin in self.listeners:
            plugin.remove_pod(self, self.pod, pod, self.table.node(row))

    def _expect_trial(self) -> None:
        if not self.cache.in_trial:
            raise LookupError("place and displace pods inside `with cycle.trial():`")

    def get(self, kind: type[T], name: str, namespace: str = "") -> T | None:
        """An object other than nodes and pods, by name."""
        return self.cache.objects.get(kind, name, namespace)

    def all(self, kind: type[T], namespace: str | None = None) -> Iterable[T]:
        """All objects of a type, in one namespace or in every one."""
        return self.cache.objects.all(kind, namespace)

    def nodes(self) -> Iterable[Node]:
        """Every known node."""
        return (self.table.node(row) for row in self.table.row_of.values())

    def pods_on(self, node: str) -> list[Pod]:
        """The pods counted on a node, those assumed there included."""
        row = self.table.row_of.get(node)
        return [] if row is None else [info.pod for info in self.table.pods[row].values()]

    def allocatable(self, node: str, resource: str) -> int:
        """What a node offers: millicores of cpu, bytes, or a count."""
        return self._amount(self.table.allocatable, node, resource)

    def requested(self, node: str, resource: str) -> int:
        """What the pods on a node have asked for, in the same units."""
        return self._amount(self.table.requested, node, resource)

    def _amount(self, column: Any, node: str, resource: str) -> int:
        row, index = self.table.row_of.get(node), self.table.resources.find(resource)
        if row is None or index is None or index >= len(column):
            return 0
        return int(column[index, row])


class _Nobody:
    filters: tuple[Any, ...] = ()

    def __call__(self, row: int) -> Rejection | None:
        raise LookupError("only PostFilter plugins may ask who refuses a row")


NOBODY = _Nobody()
