"""Queueing hints: which plugins want an event, and whether it is worth another attempt.

1. Only the plugins that refused the pod are asked, and of those only the ones that registered for
   the event.
2. One `QUEUE` is enough: the pod is retried after its backoff, or at once when the plugin had
   answered Pending.
3. A hint that raises counts as `QUEUE`: better one attempt in vain than a pod forgotten.
4. A wildcard event needs no hint. One that carries a pod concerns that pod alone.
5. Where a plugin had changed the pod for its attempt, hints are asked about the pod as changed.
   What it would change it to after an update of the pod is not known: that is worth an attempt.
"""

import enum
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from moorage.api.pod import Pod
from moorage.framework.events import Action, ClusterEvent, EventHint, Hint, Resource
from moorage.framework.plugin_errors import OnPluginError, plugin_error
from moorage.framework.queued_pod import QueuedPod

RegisteredHints = Mapping[str, Mapping[str, Sequence[EventHint]]]
"""Scheduler name -> plugin name -> what its `events()` returned."""

HintsByPlugin = dict[str, dict[str, tuple[EventHint, ...]]]
"""Scheduler name -> plugin name -> its hints for one event."""


class QueueEvent(NamedTuple):
    """An event as the queue hears it: its name, and whose hints are to be asked."""

    event: ClusterEvent
    name: str
    is_wildcard: bool
    wanted: HintsByPlugin

    @property
    def is_of_interest(self) -> bool:
        """Whether the event may move any pod at all."""
        return self.is_wildcard or bool(self.wanted)


class QueueingStrategy(enum.Enum):
    """What to do with a pod after an event."""

    SKIP = "skip"
    AFTER_BACKOFF = "after backoff"
    IMMEDIATELY = "immediately"


class QueueingHints:
    """What every plugin of every profile registered. `asked` counts (plugin, event, answer)."""

    def __init__(self, registered: RegisteredHints, report: OnPluginError) -> None:
        self._report = report
        self.replace(registered)
        self.asked: Counter[tuple[str, str, str]] = Counter()

    def replace(self, registered: RegisteredHints) -> None:
        """Ask these plugins from now on."""
        self._registered = registered
        self._heard: dict[ClusterEvent, QueueEvent] = {}

    def hear(self, event: ClusterEvent) -> QueueEvent:
        """Whom an event concerns; worked out once per event."""
        heard = self._heard.get(event)
        if heard is None:
            wanted = self._match(event)
            heard = self._heard[event] = QueueEvent(event, event.name, event.is_wildcard, wanted)
        return heard

    def may_wake(self, hints: Sequence[EventHint], sample: Pod, old: Any, new: Any) -> bool:
        """Whether an event may move pods of the sample's class that one plugin refused."""
        try:
            return any(_may_wake(entry, sample, old, new) for entry in hints)
        except Exception:  # whoever asks for the single pod will report it
            return True

    def weigh(self, queued: QueuedPod, heard: QueueEvent, old: Any, new: Any) -> QueueingStrategy:
        """What an event is worth to a refused pod."""
        refused_by, pending = queued.refused_by, queued.pending_plugins
        if not refused_by:
            return QueueingStrategy.AFTER_BACKOFF
        if queued.seen_as is not None and _changes_what_was_seen(heard.event):
            return QueueingStrategy.AFTER_BACKOFF
        if heard.is_wildcard:
            mine = target_uid(heard.event, new) in (None, queued.info.uid)
            return QueueingStrategy.AFTER_BACKOFF if mine else QueueingStrategy.SKIP
        best, pod = QueueingStrategy.SKIP, queued.judged
        for plugin, hints in heard.wanted.get(pod.spec.scheduler_name, _NOBODY).items():
            if plugin in refused_by and self._ask(plugin, hints, heard.name, pod, old, new):
                if plugin in pending:
                    return QueueingStrategy.IMMEDIATELY
                best = QueueingStrategy.AFTER_BACKOFF
                if not pending:
                    break
        return best

    def _ask(
        self, plugin: str, hints: Sequence[EventHint], event: str, pod: Pod, old: Any, new: Any
    ) -> bool:
        for entry in hints:
            try:
                queues = _says_queue(entry, pod, old, new)
                answer = "Queue" if queues else "QueueSkip"
            except Exception as error:  # whatever a plugin raises must not strand the pod
                self._report(pod.key, plugin_error(plugin, "QueueingHint", error))
                queues, answer = True, "Error"
            self.asked[plugin, event, answer] += 1
            if queues:
                return True
        return False

    def _match(self, event: ClusterEvent) -> HintsByPlugin:
        wanted: HintsByPlugin = {}
        for scheduler, plugins in self._registered.items():
            for plugin, hints in plugins.items():
                matching = tuple(hint for hint in hints if hint.event.matches(event))
                if matching:
                    wanted.setdefault(scheduler, {})[plugin] = matching
        return wanted


_NOBODY: Final[dict[str, tuple[EventHint, ...]]] = {}


def _may_wake(entry: EventHint, sample: Pod, old: Any, new: Any) -> bool:
    asked = entry.hint if entry.per_class else entry.class_hint
    return asked is None or asked(sample, old, new) is Hint.QUEUE


def _says_queue(entry: EventHint, pod: Pod, old: Any, new: Any) -> bool:
    return entry.hint is None or entry.hint(pod, old, new) is Hint.QUEUE


def _changes_what_was_seen(event: ClusterEvent) -> bool:
    """Whether the pod itself has changed, and more of it than its status."""
    return event.resource is Resource.TARGET_POD and event.action is not Action.UPDATE


def target_uid(event: ClusterEvent, new: Any) -> str | None:
    """The uid of the only pod that an event concerns; None when it concerns everyone."""
    if event.resource is Resource.TARGET_POD or event.is_wildcard:
        return new.uid if isinstance(new, Pod) else None
    return None
