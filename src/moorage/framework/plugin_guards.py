"""Guards around plugins (deadlines, circuit breakers), as the engine and the metrics see them.

How it is done is not the engine's business: a profile is built of the classes it is given.
"""

from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Any, Final, Protocol

from moorage.framework.plugin import Plugin

Now = Callable[[], float]
Sleep = Callable[[float], Coroutine[Any, Any, None]]
Tell = Callable[[Any], None]


class GuardedHook(Protocol):
    """How often a hook of a plugin was called, and how long it ran in all."""

    @property
    def calls(self) -> int: ...
    @property
    def seconds(self) -> float: ...


class GuardedPlugin(Protocol):
    """How a plugin does: `failures` are by (point, reason), `hooks` by point."""

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
    """Whoever watches the plugins of a profile."""

    @property
    def settings(self) -> Any:
        """What was configured; equal settings guard alike."""
        ...

    def wrap(self, plugin: type[Plugin]) -> type[Plugin]:
        """The class that takes a plugin's place."""
        ...

    def attach(self, now: Now, sleep: Sleep | None = None, tell: Tell | None = None) -> None:
        """The profile is in force: the time is `now`, `sleep` lets it pass, and `tell` hears when
        a plugin is switched off or on."""
        ...

    def __iter__(self) -> Iterator[GuardedPlugin]: ...


class NoGuards:
    """Nobody watches."""

    settings: Any = None

    def wrap(self, plugin: type[Plugin]) -> type[Plugin]:
        return plugin

    def attach(self, now: Now, sleep: Sleep | None = None, tell: Tell | None = None) -> None:
        pass

    def __iter__(self) -> Iterator[GuardedPlugin]:
        return iter(())


NO_GUARDS: Final[PluginGuards] = NoGuards()
