"""Queueing hints: which plugins want an event, and whether it is worth another attempt.

1. Only the plugins that refused the pod are asked, and of those only the ones that registered for
   the event.
2. One `QUEUE` is enough: the pod is retried after its backoff, or at once when the plugin had
   answered Pending.
3. A hint that raises counts as `QUEUE`: a futile attempt is better than a forgotten pod.
4. A wildcard event needs no hint. One that carries a pod concerns that pod alone.
5. If a plugin changed the pod for its attempt, hints are asked about the pod as changed. After an
   update of the pod it is unknown what the plugin would make of it, so the pod is retried.
6. Similar pods share one answer if the hint declares that it reads nothing in which they differ.
"""

import enum
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from moorage.api.pod import Pod
from moorage.framework.events import (
    Action,
    ClusterEvent,
    EventHint,
    Hint,
    HintFunction,
    Resource,
)
from moorage.framework.plugin_errors import OnPluginError, plugin_error
from moorage.framework.queued_pod import QueuedPod
from moorage.queue.unschedulable_pods import PodsBySpec, Refuser, alike

Brought = Callable[[Any, Any], Collection[Hashable] | None]
RegisteredHints = Mapping[str, Mapping[str, Sequence[EventHint]]]
"""Scheduler name -> plugin name -> what its `events()` returned."""


class PluginHints(NamedTuple):
    """The hints of one plugin for one event: all, and grouped by which pods share an answer."""

    all: tuple[EventHint, ...]
    per_event: tuple[EventHint, ...]
    per_spec: tuple[EventHint, ...]
    per_class: tuple[EventHint, ...]
    """Hints whose answer pods of a class share, for some pods if not for all."""
    asks_each: bool
    """Whether some hint shares no answer, so that it must be asked about each pod."""
    depends: bool
    """Whether it depends on the pod which other pods share its answer."""
    brought: tuple[Brought, ...]
    """Each hint's function from a change to the keys it brings; empty if any hint has none."""

    def shared_for(self, sample: Pod) -> tuple[Sequence[EventHint], Sequence[EventHint]]:
        """The hints whose answer is shared by spec, and by class, for pods like this sample."""
        if not self.depends:
            return self.per_spec, self.per_class
        by_spec = [each for each in self.per_spec if _shares_by_spec(each, sample)]
        return by_spec, [each for each in self.per_class if each not in by_spec]

    @classmethod
    def of(cls, hints: tuple[EventHint, ...]) -> "PluginHints":
        """Group the hints."""
        rest = [each for each in hints if not each.per_event]
        asked_each = [each for each in rest if not _is_shared(each)]
        return cls(
            hints,
            tuple(each for each in hints if each.per_event),
            tuple(each for each in rest if each.per_spec),
            tuple(each for each in rest if _is_shared(each) and each.per_spec is not True),
            bool(asked_each),
            any(callable(each.per_spec) for each in rest),
            tuple(each.keyed.brought for each in hints if each.keyed is not None)
            if all(each.keyed is not None for each in hints)
            else (),
        )

    def keys(self, old: Any, new: Any) -> set[Hashable] | None:
        """The keys that a change brings; None if it may help any pod."""
        if not self.brought:
            return None
        found: set[Hashable] = set()
        for brought in self.brought:
            try:
                keys = brought(old, new)
                if keys is None:
                    return None
                found.update(keys)
            except Exception:  # the keys only save calls; without them every pod is asked about
                return None
        return found


def _is_shared(entry: EventHint) -> bool:
    return bool(entry.per_spec or entry.per_class or entry.class_hint is not None)


def _shares_by_spec(entry: EventHint, pod: Pod) -> bool:
    """Whether pods like this one share an answer by spec; False if `per_spec` raises."""
    promised = entry.per_spec
    if isinstance(promised, bool):
        return promised
    try:
        return promised(pod)
    except Exception:  # sharing only saves calls; without it each pod is asked about
        return False


HintsByPlugin = dict[str, dict[str, PluginHints]]
"""Scheduler name -> plugin name -> its hints for one event."""


class QueueEvent(NamedTuple):
    """An event with its name and the hints to ask about it."""

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


class SharedAnswers:
    """The hints' answers to one event: a hint is called once for pods that share its answer."""

    __slots__ = ("_known", "new", "old")

    def __init__(self, old: Any, new: Any) -> None:
        self.old = old
        self.new = new
        self._known: dict[tuple[int, Hashable], bool] = {}

    def may_wake(self, entry: EventHint, who: Hashable, sample: Pod) -> bool:
        """Whether the hint may move any pod of the group `who`; only a Queue is remembered.

        `sample` is a pod of the group. A hint that raises counts as True.
        """
        question = entry.class_hint or entry.hint
        if question is None:
            return True
        try:
            may = question(sample, self.old, self.new) is Hint.QUEUE
        except Exception:  # `weigh` asks again about the single pod, and reports the error
            return True
        if may:
            self._known[id(entry), who] = True
        return may

    def says_queue(self, entry: EventHint, queued: QueuedPod) -> bool:
        """Whether the hint answers Queue for one pod; without a hint function it always does."""
        hint = entry.hint
        if hint is None:
            return True
        if entry.class_hint is None:
            if entry.per_event:
                return self._once(entry, None, hint, queued.judged)
            if _shares_by_spec(entry, queued.judged):
                return self._once(entry, alike(queued), hint, queued.judged)
            if (entry.per_class or entry.per_spec) and queued.seen_as is None:
                return self._once(entry, queued.info.cls, hint, queued.judged)
        return hint(queued.judged, self.old, self.new) is Hint.QUEUE

    def _once(self, entry: EventHint, who: Hashable, question: HintFunction, pod: Pod) -> bool:
        known = self._known.get((id(entry), who))
        if known is None:
            known = question(pod, self.old, self.new) is Hint.QUEUE
            self._known[id(entry), who] = known
        return known


class QueueingHints:
    """What every plugin of every profile registered. `asked` counts (plugin, event, answer)."""

    def __init__(self, registered: RegisteredHints, report: OnPluginError) -> None:
        self._report = report
        self.replace(registered)
        self.asked: Counter[tuple[str, str, str]] = Counter()

    def replace(self, registered: RegisteredHints) -> None:
        """Use these plugins' hints from now on."""
        self._registered = registered
        self._heard: dict[ClusterEvent, QueueEvent] = {}

    def hear(self, event: ClusterEvent) -> QueueEvent:
        """The hints that an event concerns; computed once per event."""
        heard = self._heard.get(event)
        if heard is None:
            wanted = self._match(event)
            heard = self._heard[event] = QueueEvent(event, event.name, event.is_wildcard, wanted)
        return heard

    def awaited(self, refuser: Refuser, pod: Pod) -> Hashable | None:
        """The key that a pod waits for, by the plugin that refused it; None if anything may help.

        A key is used only if all keyed hints of the plugin agree on the function that makes it.
        """
        scheduler, plugin = refuser
        registered = self._registered.get(scheduler, {}).get(plugin, ())
        functions = [each.keyed.awaited for each in registered if each.keyed is not None]
        if not functions or any(each != functions[0] for each in functions):
            return None
        try:
            key = functions[0](pod)
            hash(key)
        except Exception:  # the key only saves calls; without it any event may wake the pod
            return None
        return key

    def may_wake(
        self, hints: PluginHints, specs: PodsBySpec, answers: SharedAnswers
    ) -> Iterator[dict[str, QueuedPod]]:
        """Of the pods that one plugin refused, those that an event may move, class by class."""
        if not specs:
            return
        wakes_all = hints.asks_each
        if hints.per_event and not wakes_all:
            sample = _first(next(iter(next(iter(specs.values())).values())))
            wakes_all = any(answers.may_wake(each, None, sample) for each in hints.per_event)
        if not wakes_all and not hints.per_spec and not hints.per_class:
            return
        if wakes_all:
            for classes in specs.values():
                yield from classes.values()
            return
        for spec, classes in specs.items():
            sample = _first(next(iter(classes.values())))
            by_spec, by_class = hints.shared_for(sample)
            for entry in by_spec:
                if answers.may_wake(entry, spec, sample):
                    yield from classes.values()
                    break
            else:
                for cls, pods in classes.items() if by_class else ():
                    if any(answers.may_wake(each, cls, _first(pods)) for each in by_class):
                        yield pods

    def weigh(
        self, queued: QueuedPod, heard: QueueEvent, answers: SharedAnswers
    ) -> QueueingStrategy:
        """What to do with a refused pod after an event."""
        refused_by, pending = queued.refused_by, queued.pending_plugins
        if not refused_by:
            return QueueingStrategy.AFTER_BACKOFF
        if queued.seen_as is not None and _changes_what_was_seen(heard.event):
            return QueueingStrategy.AFTER_BACKOFF
        if heard.is_wildcard:
            mine = target_uid(heard.event, answers.new) in (None, queued.info.uid)
            return QueueingStrategy.AFTER_BACKOFF if mine else QueueingStrategy.SKIP
        best, scheduler = QueueingStrategy.SKIP, queued.judged.spec.scheduler_name
        for plugin, hints in heard.wanted.get(scheduler, _NOBODY).items():
            if plugin in refused_by and self._ask(plugin, hints.all, heard.name, queued, answers):
                if plugin in pending:
                    return QueueingStrategy.IMMEDIATELY
                best = QueueingStrategy.AFTER_BACKOFF
                if not pending:
                    break
        return best

    def _ask(
        self,
        plugin: str,
        hints: Sequence[EventHint],
        event: str,
        queued: QueuedPod,
        answers: SharedAnswers,
    ) -> bool:
        for entry in hints:
            try:
                queues = answers.says_queue(entry, queued)
                answer = "Queue" if queues else "QueueSkip"
            except Exception as error:  # whatever a plugin raises must not strand the pod
                self._report(queued.judged.key, plugin_error(plugin, "QueueingHint", error))
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
                    wanted.setdefault(scheduler, {})[plugin] = PluginHints.of(matching)
        return wanted


_NOBODY: Final[dict[str, PluginHints]] = {}


def _first(pods: Mapping[str, QueuedPod]) -> Pod:
    return next(iter(pods.values())).judged


def _changes_what_was_seen(event: ClusterEvent) -> bool:
    """Whether the pod itself has changed, and more of it than its status."""
    return event.resource is Resource.TARGET_POD and event.action is not Action.UPDATE


def target_uid(event: ClusterEvent, new: Any) -> str | None:
    """The uid of the only pod that an event concerns; None when it concerns everyone."""
    if event.resource is Resource.TARGET_POD or event.is_wildcard:
        return new.uid if isinstance(new, Pod) else None
    return None
