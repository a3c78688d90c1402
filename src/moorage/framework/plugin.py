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
    What the scheduler offers beside a cycle is in `handle`.
    """

    aliases: ClassVar[tuple[str, ...]] = ()
    depends: ClassVar[Depends] = Depends.EVERYTHING
    carried: ClassVar[Carried] = MappingProxyType({})
    """What stays of `cycle.shared` when the profile is replaced while running, by key, and how it
    begins, if not with nothing: what was booked or measured, not what was worked out."""
    needs: ClassVar[Needs] = MappingProxyType({})
    """Which of my points go by what another of them has noted, in the configuration's names:
    `{"filter": "preFilter", "score": "preScore"}`. Where a profile enables the first without the
    second, the preference is left out, or its attempts fail."""

    same_for_equal_pods: ClassVar[bool] = False
    """Whether PreFilter, Filter and PostFilter refuse pods of equal labels and specs alike, as long
    as nodes, the pods on them and other objects stay as they are. Where one has just been refused,
    the next is then spared the attempt."""
    reads_labels: ClassVar[bool] = True
    """Whether the labels of the pod have a part in that, too: pods of a StatefulSet have labels of
    their own."""

    reads_claims: ClassVar[bool] = True
    """Whether the names of the pod's claims have, too: pods of a StatefulSet have claims of their
    own. Who is about volumes says what counts of them with `volumes_sign`."""

    more_room_helps: ClassVar[bool] = True
    """Whether a pod that I refuse may be let in when there is more room. Without that, no room is
    kept free for it, however long it waits: a quota, say, keeps it from running."""

    @property
    def handle(self) -> Handle:
        """The scheduler I run in: its cache, its clock, the pods that wait on Permit, events."""
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
        """What is wrong with arguments that decode well, each line with its place."""
        return []

    def events(self) -> tuple[EventHint, ...]:
        """The events after which a pod that this plugin refused is worth another attempt.

        Asked once, when the profile is built. The default, any event, is safe; narrow it for
        speed only.
        """
        return (EventHint(ANY_EVENT),)

    def inherit(self, before: Self) -> None:
        """Called once, when a profile is replaced while running, on a plugin whose place one of
        the same class had: take over what that one holds by itself."""

    def concerns(self) -> int:
        """What a pod must bring for me to have a say, as flags of `Feature`; the default, anything.

        Asked once, when the profile is built. For a pod that brings none of it my PreFilter,
        Filter, PreScore, Score and Reserve are left out, as if I had skipped.
        """
        return Feature.ANYTHING

    def label_keys(self, cycle: Cycle) -> Iterable[str] | None:
        """Where `same_for_equal_pods` and `reads_labels`: the keys of the pod's labels that have a
        part in it, if not any may have one. Asked after a refusal."""
        return None

    def volumes_sign(self, cycle: Cycle) -> Hashable | None:
        """What I go by of the pod's volumes, where that is not the names of its claims: pods of a
        StatefulSet have claims of their own.

        Where signs are equal, and specs but for these names, I refuse pods alike, as with
        `same_for_equal_pods`, whatever their labels. `None`: I cannot tell. Asked of plugins that
        `concern` themselves with `Feature.VOLUMES` alone, after a refusal; and of pods that may be
        like the one that was refused, before their PreFilter.
        """
        return None

    def refusal_sign(self, cycle: Cycle) -> Hashable | None:
        """What I go by beside specs, labels, nodes, the pods on them and other objects: notes of my
        own, annotations of the pod.

        Where signs are equal I refuse pods of equal specs alike, as with `same_for_equal_pods`,
        whatever their labels. `None`: I cannot tell. Asked when `volumes_sign` is.
        """
        return None

    def sign(self, cycle: Cycle) -> Hashable | None:
        """What my vector hooks read beside the node's row: of the pod, and of the cluster.

        Equal signs share one computed column. Asked once per attempt. `None` means that nothing
        may be kept between attempts. To be answered only together with `depends`; and a plugin
        that signs normalises by the scores alone, since a column of equal scores is normalised
        as a single one.
        """
        return None


_HANDLE: Final = "handle"


def handle_of(plugin: Plugin) -> Handle | None:
    """What `plugin.handle` is; None where it was given none, or the scheduler is gone."""
    reference: ref[Handle] | None = plugin.__dict__.get(_HANDLE)
    return None if reference is None else reference()


def give_handle(plugin: Plugin, handle: Handle) -> None:
    """What `plugin.handle` is from now on; for whoever runs the plugin's profile, and keeps it.

    A plugin holds its handle by a weak reference. Python's collector looks into no plugin whose
    arguments are plain values: a handle that it kept alive would keep its scheduler alive.
    """
    plugin.__dict__[_HANDLE] = ref(handle)


def give_handles(
    plugins: Mapping[str, Plugin],
    cache: Cache,
    shared: dict[str, Any],
    now: Callable[[], float] = float,
) -> dict[str, Handle]:
    """Handles for plugins that run in no scheduler: nobody waits, and nothing is recorded.

    They last for as long as the caller keeps them.
    """
    handles = {name: Handle(name, cache, now, shared) for name in plugins}
    for name, plugin in plugins.items():
        give_handle(plugin, handles[name])
    return handles
