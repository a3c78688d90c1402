"""Handle: what a plugin sees of the scheduler it runs in, besides one attempt's cycle.

The engine gives one to every plugin of a profile, once, before it calls any hook. It corresponds to
kube-scheduler's framework.Handle: it offers the cache, the time, the pods that wait on Permit,
events about pods, and metrics of the plugin's own.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal, Protocol

from moorage.api.meta import KubeObject
from moorage.api.pod import Pod
from moorage.cache.cache import Cache
from moorage.framework.plugin_metrics import (
    SECONDS,
    PluginCounter,
    PluginGauge,
    PluginHistogram,
    PluginMetrics,
)

EventType = Literal["Normal", "Warning"]


class HandleError(LookupError):
    """A plugin that runs in no scheduler asked for its handle."""


class WaitingPod(Protocol):
    """A pod that is assumed on a node, and waits for plugins that answered Wait."""

    @property
    def pod(self) -> Pod: ...
    @property
    def node(self) -> str: ...
    @property
    def pending(self) -> Mapping[str, float]:
        """Plugin name -> seconds, of each plugin that still holds the pod."""
        ...

    def allow(self, plugin: str) -> None: ...
    def reject(self, plugin: str, reason: str) -> None: ...


class WaitingPods(Protocol):
    """Every waiting pod."""

    def get(self, uid: str) -> WaitingPod | None: ...
    def all(self) -> Iterable[WaitingPod]: ...


class Recorder(Protocol):
    """Sends events."""

    def record(
        self,
        controller: str,
        about: KubeObject,
        type_: EventType,
        reason: str,
        action: str,
        note: str,
        /,
    ) -> None: ...


class NobodyWaits:
    """No pod waits on Permit."""

    def get(self, uid: str) -> WaitingPod | None:
        return None

    def all(self) -> Iterable[WaitingPod]:
        return ()


class NoRecorder:
    """Drops all events."""

    def record(
        self,
        controller: str,
        about: KubeObject,
        type_: EventType,
        reason: str,
        action: str,
        note: str,
        /,
    ) -> None:
        pass


NOBODY_WAITS: Final = NobodyWaits()
NO_RECORDER: Final = NoRecorder()


class Handle:
    """One plugin's view of its scheduler.

    `cache` is to be read, never written. `shared` is what `cycle.shared` is: it outlives attempts,
    and belongs to the profile.
    """

    __slots__ = (
        "__weakref__",
        "_metrics",
        "_now",
        "_recorder",
        "_waiting",
        "cache",
        "plugin",
        "shared",
    )

    def __init__(
        self,
        plugin: str,
        cache: Cache,
        now: Callable[[], float],
        shared: dict[str, Any],
        waiting: WaitingPods = NOBODY_WAITS,
        recorder: Recorder = NO_RECORDER,
        metrics: PluginMetrics | None = None,
    ) -> None:
        self.plugin = plugin
        self.cache = cache
        self.shared = shared
        self._now = now
        self._waiting = waiting
        self._recorder = recorder
        self._metrics = PluginMetrics() if metrics is None else metrics

    def now(self) -> float:
        """Seconds since the epoch; in a simulation, its virtual time."""
        return self._now()

    def waiting_pods(self) -> list[WaitingPod]:
        """The pods that wait on Permit, for this plugin or for others."""
        return list(self._waiting.all())

    def waiting_pod(self, uid: str) -> WaitingPod | None:
        return self._waiting.get(uid)

    def allow(self, uid: str) -> bool:
        """Let a pod go that this plugin answered Wait to; False if it no longer waits for that.

        It is bound when no other plugin holds it."""
        found = self._waiting.get(uid)
        if found is None or self.plugin not in found.pending:
            return False
        found.allow(self.plugin)
        return True

    def reject(self, uid: str, reason: str) -> bool:
        """Refuse a waiting pod: it goes back to the queue. False if it does not wait."""
        found = self._waiting.get(uid)
        if found is None:
            return False
        found.reject(self.plugin, reason)
        return True

    def record(
        self, pod: Pod, reason: str, note: str, type_: EventType = "Normal", action: str = ""
    ) -> None:
        """Send an event about a pod, in the name of its scheduler.

        `action` defaults to the plugin's name.
        """
        scheduler, action = pod.spec.scheduler_name, action or self.plugin
        self._recorder.record(scheduler, pod, type_, reason, action, note)

    def counter(self, name: str, help: str, labels: tuple[str, ...] = ()) -> PluginCounter:
        """A counter of this plugin's, served as `moorage_plugin_<plugin>_<name>_total`."""
        return self._metrics.counter(self.plugin, name, help, labels)

    def gauge(self, name: str, help: str, labels: tuple[str, ...] = ()) -> PluginGauge:
        """A gauge of this plugin's, served as `moorage_plugin_<plugin>_<name>`."""
        return self._metrics.gauge(self.plugin, name, help, labels)

    def histogram(
        self,
        name: str,
        help: str,
        labels: tuple[str, ...] = (),
        bounds: tuple[float, ...] = SECONDS,
    ) -> PluginHistogram:
        """A histogram of this plugin's, served as `moorage_plugin_<plugin>_<name>`."""
        return self._metrics.histogram(self.plugin, name, help, labels, bounds)


NO_HANDLE: Final = (
    "{} has no handle: it is given one by the scheduler that runs its profile, or by "
    "moorage.testing, before the first hook is called"
)
