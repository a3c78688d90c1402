"""The guards of every custom plugin of some profiles."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from moorage.config.guarding import PluginGuard
from moorage.framework.plugin import Plugin
from moorage.guard.calling import Guard
from moorage.guard.telling import SwitchedOff, SwitchedOn, Tell, tell_nobody
from moorage.guard.wrapping import guarded


def is_custom(plugin: type[Plugin]) -> bool:
    """Whether a plugin is somebody else's."""
    return plugin.__module__.partition(".")[0] != "moorage"


class Guards:
    """Wraps plugins of one profile, and knows how they do.

    `clock` tells breakers the time, `sleep` lets it pass, and `tell` hears of them: all are the
    scheduler's to set.
    """

    def __init__(self, settings: PluginGuard, profile: str) -> None:
        self.settings = settings
        self._profile = profile
        self.guards: dict[str, Guard] = {}
        self.clock: Callable[[], float] = float
        self.sleep: Callable[[float], Coroutine[Any, Any, None]] = asyncio.sleep
        self.tell: Tell = tell_nobody

    def wrap(self, plugin: type[Plugin]) -> type[Plugin]:
        """The class to make the plugin of: one of ours as it is, anyone else's guarded."""
        if not is_custom(plugin):
            return plugin
        name = plugin.plugin_name()
        terms = self.settings.of((name, *plugin.aliases))
        guard = Guard(
            name, self._profile, terms, plugin.__module__, self._now, self._told, self._sleep
        )
        self.guards[name] = guard
        return guarded(plugin, guard)

    def rewrap(self, plugin: Plugin) -> Plugin:
        """The same for a plugin that is made already."""
        made = self.wrap(type(plugin))
        fields = {name: getattr(plugin, name) for name in plugin.__struct_fields__}
        return plugin if made is type(plugin) else made(**fields)

    def _now(self) -> float:
        return self.clock()

    async def _sleep(self, seconds: float) -> None:
        await self.sleep(seconds)

    def _told(self, change: SwitchedOff | SwitchedOn) -> None:
        self.tell(change)

    def __iter__(self) -> Iterator[Guard]:
        return iter(self.guards.values())
