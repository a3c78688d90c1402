"""Guards around plugins (deadlines, circuit breakers), as the engine and the metrics see them.

The engine does not know how guards work: it builds a profile from the classes that `wrap` returns.
"""

from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Any, Final, Protocol

from moorage.framework.plugin import Plugin

Now = Callable[[], float]
Sleep = Callable[[float], Coroutine[Any, Any, None]]
Tell = Callable[[Any], None]


class GuardedHook(Protocol):
    """How often a hook of a plugin was called, and how many seconds it ran in total."""

    @property
    def calls(self) -> int: ...
    @property
    def seconds(self) -> float: ...


class GuardedPlugin(Protocol):
    """Statistics of a guarded plugin: `failures` by (point, reason), `hooks` by point."""

    @property
    def plugin(self) -> str: ...
    @property
    def profile(self) -> str: ...
    @property
    def state(self) -> int: ...
    @property
    def trips(self) -> int: ...
    @property
    def left_out(self) -> int: ...
    @property
    def failures(self) -> Mapping[tuple[str, str], int]: ...
    @property
    def hooks(self) -> Mapping[str, GuardedHook]: ...


class PluginGuards(Protocol):
    """Guards the plugins of a profile."""

    @property
    def settings(self) -> Any:
        """The configured settings; guards with equal settings behave the same."""
        ...

    def wrap(self, plugin: type[Plugin]) -> type[Plugin]:
        """The class that takes a plugin's place."""
        ...

    def attach(self, now: Now, sleep: Sleep | None = None, tell: Tell | None = None) -> None:
        """Called before the profile is used: `now` gives the time, `sleep` waits, and `tell` must
        be called when a plugin is switched off or on."""
        ...

    def __iter__(self) -> Iterator[GuardedPlugin]: ...


class NoGuards:
    """No guards."""

    settings: Any = None

    def wrap(self, plugin: type[Plugin]) -> type[Plugin]:
        return plugin

    def attach(self, now: Now, sleep: Sleep | None = None, tell: Tell | None = None) -> None:
        pass

    def __iter__(self) -> Iterator[GuardedPlugin]:
        return iter(())


NO_GUARDS: Final[PluginGuards] = NoGuards()
