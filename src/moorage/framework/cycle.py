"""One attempt's state, and what plugins can see of the cluster (kube's CycleState and Handle)."""

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol, TypeVar

from moorage.api.meta import KubeObject
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.cache.cache import Cache
from moorage.cache.podinfo import PodInfo
from moorage.cache.table import NodeTable
from moorage.devices.work_budget import WorkBudget
from moorage.framework.draws import Purpose, Random, draw, generator, tie_key
from moorage.framework.extenders import NO_EXTENDERS, Extenders
from moorage.framework.verdicts import Rejection

PluginEntry = TypeVar("PluginEntry", bound=tuple[Any, ...])


Step = tuple[str, str, float, float]
"""(extension point, status it ended with, time it began, seconds it took)."""


class Timer(Protocol):
    """Receives the course of one attempt; never raises.

    If it is `sampled`, each plugin is timed. If it is `detailed`, the engine also passes it every
    verdict and the best scores. `trace_id` links the attempt to a trace that is kept elsewhere.
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
        """An extension point begins; none if `point` is empty. The one before `ended` so."""

    def each(self, plugins: Iterable[PluginEntry]) -> Iterable[PluginEntry]:
        """Yields the plugins to run at the point that has begun, and may time each."""
        ...

    def verdicts(self, refusals: Sequence[tuple[str, str, int]]) -> None:
        """(plugin, reason, number of nodes) of each refusal."""

    def scores(self, best: Sequence[tuple[str, int, dict[str, int]]]) -> None:
        """(node, total score, weighted score by plugin) of the best nodes."""


class NoTimer:
    """A timer that ignores everything."""

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


class Client(Protocol):
    """What Reserve, PreBind and Bind plugins may ask of the API server."""

    async def bind(
        self,
        namespace: str,
        name: str,
        uid: str,
        node: str,
        annotations: Mapping[str, str] | None = None,
    ) -> None: ...

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
        """Call `check` as the cache changes, and at least every second, until it returns True.

        False if it has not done so after `seconds`. An exception of `check` ends the wait.
        """
        ...


class Listener(Protocol):
    """A plugin that updates its cycle state as a trial adds and removes pods."""

    def add_pod(self, cycle: "Cycle", pod: Pod, added: PodInfo, node: Node) -> Any: ...

    def remove_pod(self, cycle: "Cycle", pod: Pod, removed: PodInfo, node: Node) -> Any: ...


class RowFilter(Protocol):
    """Filters one row; `filters` are the plugins that are asked, in order."""

    @property
    def filters(self) -> tuple[Any, ...]: ...

    def __call__(self, row: int) -> Rejection | None: ...


class Cycle:
    """kube-scheduler's CycleState and Handle in one: lives as long as one attempt.

    `state` belongs to the plugins: write under your plugin's name in PreFilter, read it later.
    `generation` is the generation of the configuration in force. Draws among equals follow from the
    seed, the pod's uid and `number`, which counts the pod's attempts; or from a `tie_key` of old.
    Reserve and PreBind plugins put into `annotations` what the pod gets when it is bound: Bind
    plugins pass it to `client.bind`.
    `budget` is what the attempt may still spend on CEL and on the search for devices; the pods of a
    group share it.
    """

    __slots__ = (
        "_generators",
        "_seed",
        "_tie_key",
        "annotations",
        "asking",
        "attempt",
        "budget",
        "cache",
        "client",
        "extenders",
        "generation",
        "incoming",
        "listeners",
        "now",
        "number",
        "pod",
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
        seed: int = 0,
        number: int = 1,
        tie_key: int | None = None,
        now: float = 0.0,
        attempt: str = "",
        generation: int = 0,
        shared: dict[str, Any] | None = None,
        client: Client | None = None,
        timer: Timer = NO_TIMER,
        extenders: Extenders = NO_EXTENDERS,
        budget: WorkBudget | None = None,
    ) -> None:
        self.cache = cache
        self.budget = budget or WorkBudget()
        self.table: NodeTable = cache.table
        self.consider(incoming)
        self.number = number
        self._seed = seed
        self._tie_key = tie_key
        self._generators: dict[str, Random] | None = None
        self.asking = ""
        """The plugin that is being called, if it is guarded."""
        self.now = now
        self.attempt = attempt
        self.generation = generation
        self.shared: dict[str, Any] = {} if shared is None else shared
        self.client = client
        self.timer = timer
        self.extenders = extenders
        self.state: dict[str, Any] = {}
        self.annotations: dict[str, str] = {}
        self.listeners: list[tuple[str, Listener]] = []
        """The PreFilter plugins, by name, whose state a trial must keep up to date."""
        self.refuses: RowFilter = NOBODY
        """For PostFilter: the refusal of a row as the table stands now, inside a trial too."""

    def consider(self, incoming: PodInfo) -> None:
        """Decide about this pod from now on: sets `incoming` and `pod`."""
        self.incoming = incoming
        self.pod: Pod = incoming.pod

    @property
    def tie_key(self) -> int:
        """What all draws of this attempt follow from (`moorage.framework.draws`)."""
        if self._tie_key is None:
            self._tie_key = tie_key(self._seed, self.incoming.uid, self.number)
        return self._tie_key

    def draw(self, what: Purpose, stop: int) -> int:
        """One of 0 to `stop` - 1, the same whenever this attempt draws for this purpose."""
        return draw(self.tie_key, what, stop)

    @property
    def random(self) -> Random:
        """A generator for the plugin that is being called, of its own in each attempt."""
        return self.random_of(self.asking)

    def random_of(self, plugin: str) -> Random:
        """The generator of a plugin for this attempt."""
        if self._generators is None:
            self._generators = {}
        found = self._generators.get(plugin)
        if found is None:
            found = self._generators[plugin] = generator(self.tie_key, plugin)
        return found

    @contextmanager
    def trial(self) -> Iterator[None]:
        """On exit, undo all `place` and `displace` calls, and restore the listeners' state."""
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
        """A node's allocatable amount of a resource: millicores of cpu, bytes, or a count."""
        return self._amount(self.table.allocatable, node, resource)

    def requested(self, node: str, resource: str) -> int:
        """The sum that the pods on a node request of a resource, in the same units."""
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
