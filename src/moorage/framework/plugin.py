"""What every plugin is: its own arguments."""

import enum
from collections.abc import Hashable
from typing import Any, ClassVar

import msgspec

from moorage.cache.podinfo import PodInfo
from moorage.framework.events import ANY_EVENT, EventHint


class Depends(enum.Flag):
    """What of a node a vector rule reads, so that the engine knows which rows to recompute."""

    NODE = enum.auto()
    USAGE = enum.auto()
    EVERYTHING = enum.auto()


class Plugin(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A plugin *is* its decoded `pluginConfig.args`: fields are arguments, methods are hooks.

    The class line lists the extension points; the class name is the plugin's name. Plugins hold
    no state: what one attempt needs goes in `cycle.state`, what outlives it in `cycle.shared`.
    """

    aliases: ClassVar[tuple[str, ...]] = ()
    depends: ClassVar[Depends] = Depends.EVERYTHING

    @classmethod
    def plugin_name(cls) -> str:
        return cls.__name__

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

    def sign(self, pod: PodInfo) -> Hashable | None:
        """What of the pod my vector hooks read. Equal signs share one computed column.

        Asked once per attempt. `None` means that nothing may be kept between attempts. To be
        answered only together with `depends`; and a plugin that signs normalises by the scores
        alone, since a column of equal scores is normalised as a single one.
        """
        return None
