"""Plugin, the base class of every plugin: a struct of the plugin's arguments."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Final, Self
from weakref import ref

import msgspec

from moorage.cache.cache import Cache
from moorage.cache.column_cache import Depends
from moorage.cache.podinfo import Feature
from moorage.framework.argument_names import yaml_name
from moorage.framework.cycle import Cycle
from moorage.framework.events import ANY_EVENT, EventHint
from moorage.framework.handle import NO_HANDLE, Handle, HandleError

Carried = Mapping[str, Callable[[], Any] | None]
Needs = Mapping[str, str]


class Plugin(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    dict=True,
    rename=yaml_name,
    forbid_unknown_fields=True,
):
    """A plugin *is* its decoded `pluginConfig.args`: fields are arguments, methods are hooks.

    The class line lists the extension points; the class name is the plugin's name. Plugins hold
    no state: what one attempt needs goes in `cycle.state`, what outlives it in `cycle.shared`.
    `handle` has what the scheduler offers besides a cycle.
    """

    aliases: ClassVar[tuple[str, ...]] = ()
    depends: ClassVar[Depends] = Depends.EVERYTHING
    carried: ClassVar[Carried] = MappingProxyType({})
    """The keys of `cycle.shared` that are kept when the profile is replaced while running, each
    with a function that makes the initial value, or None. List what was booked or measured, not
    what can be computed again."""
    needs: ClassVar[Needs] = MappingProxyType({})
    """The points of this plugin that read what another of its points has noted, in the
    configuration's names: `{"filter": "preFilter", "score": "preScore"}`. If a profile enables the
    first without the second, attempts fail."""

    same_for_equal_pods: ClassVar[bool] = False
    """Whether PreFilter, Filter and PostFilter refuse all pods of equal labels and specs alike, as
    long as nodes, the pods on them and other objects do not change. If so, the engine may skip the
    attempt at a pod after an equal one was refused."""
    reads_labels: ClassVar[bool] = True
    """Whether that depends on the pod's labels: if not, pods that differ only in labels, such as
    those of a StatefulSet, count as equal."""

    reads_claims: ClassVar[bool] = True
    """Whether that depends on the names of the pod's claims: if not, pods that differ only in
    those, such as those of a StatefulSet, count as equal. A plugin that is concerned with volumes
    only implements `volumes_sign` instead."""

    more_room_helps: ClassVar[bool] = True
    """Whether a pod that this plugin refuses may fit when there is more room. If not, no room is
    kept free for such a pod, however long it waits: a quota, for example, keeps it from running."""

    @property
    def handle(self) -> Handle:
        """The scheduler this plugin runs in: its cache, clock, waiting pods, events, metrics."""
        given = handle_of(self)
        if given is None:
            raise HandleError(NO_HANDLE.format(type(self).__name__))
        return given

    @classmethod
    def plugin_name(cls) -> str:
        return cls.__name__

    @classmethod
    def origin(cls) -> "type[Plugin]":
        """The class as its author wrote it; the engine may run a subclass of it."""
        return cls

    @classmethod
    def check(cls, args: dict[str, Any]) -> list[str]:
        """The errors in arguments that have decoded without one; each names its field."""
        return []

    def events(self) -> tuple[EventHint, ...]:
        """The events after which a pod that this plugin refused is worth another attempt.

        Called once, when the profile is built. The default, any event, is always correct; narrow it
        only for speed.
        """
        return (EventHint(ANY_EVENT),)

    def inherit(self, before: Self) -> None:
        """Take over what `before` holds itself. Called once, when a profile is replaced while
        running, with the plugin of the same class and name that this one replaces."""

    def concerns(self) -> int:
        """What a pod must bring to concern this plugin, as flags of `Feature`; default: anything.

        Called once, when the profile is built. For a pod that brings none of it the plugin's
        PreFilter, Filter, PreScore, Score and Reserve are not called, as if it had skipped.
        """
        return Feature.ANYTHING

    def label_keys(self, cycle: Cycle) -> Iterable[str] | None:
        """The keys of the pod's labels that a refusal depends on; None if any may count.

        Called after a refusal, if `same_for_equal_pods` and `reads_labels` are set.
        """
        return None

    def volumes_sign(self, cycle: Cycle) -> Hashable | None:
        """What a refusal depends on of the pod's volumes, if that is not the names of its claims:
        pods of a StatefulSet have claims of their own.

        Pods with equal signs, and specs that differ only in these names, must be refused alike, as
        with `same_for_equal_pods`, whatever their labels. `None` means that there is no sign.
        Called only if `concerns` returns `Feature.VOLUMES` alone: after a refusal, and for a pod
        that may equal the one refused, before its PreFilter.
        """
        return None

    def refusal_sign(self, cycle: Cycle) -> Hashable | None:
        """What a refusal depends on besides specs, nodes, the pods on them and other objects, such
        as the plugin's own notes or the pod's annotations.

        Pods with equal signs and equal specs must be refused alike, as with `same_for_equal_pods`,
        whatever their labels. `None` means that there is no sign. Called when `volumes_sign` is.
        """
        return None

    def sign(self, cycle: Cycle) -> Hashable | None:
        """What the vector hooks read besides the node's row: of the pod, and of the cluster.

        Pods with equal signs share one computed column. Called once per attempt. `None` means that
        nothing may be kept between attempts. A plugin that implements it must set `depends`, and
        its `normalize` must depend on the scores alone: a column of equal scores is normalised as a
        single score.
        """
        return None


_HANDLE: Final = "handle"


def handle_of(plugin: Plugin) -> Handle | None:
    """The plugin's handle; None if it was given none, or if the scheduler is gone."""
    reference: ref[Handle] | None = plugin.__dict__.get(_HANDLE)
    return None if reference is None else reference()


def give_handle(plugin: Plugin, handle: Handle) -> None:
    """Set `plugin.handle`. The caller must keep the handle alive while it runs the plugin.

    A plugin holds its handle by a weak reference. Python's garbage collector does not track plugins
    whose arguments are plain values: a strong reference would keep the scheduler alive for ever.
    """
    plugin.__dict__[_HANDLE] = ref(handle)


def give_handles(
    plugins: Mapping[str, Plugin],
    cache: Cache,
    shared: dict[str, Any],
    now: Callable[[], float] = float,
) -> dict[str, Handle]:
    """Give handles to plugins that run in no scheduler: no pod waits, and events are dropped.

    The caller must keep the handles alive for as long as it uses the plugins.
    """
    handles = {name: Handle(name, cache, now, shared) for name in plugins}
    for name, plugin in plugins.items():
        give_handle(plugin, handles[name])
    return handles
