"""A plugin that raises costs one attempt and is named; nothing else is harmed."""

from types import TracebackType

from moorage.framework.verdicts import PluginError, SchedulingError


class guard:
    """`with guard(plugin, point):` turns whatever the plugin raises into a PluginError."""

    __slots__ = ("plugin", "point")

    def __init__(self, plugin: str, point: str) -> None:
        self.plugin = plugin
        self.point = point

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, Exception):
            raise blame(self.plugin, self.point, error) from error


def blame(plugin: str, point: str, error: Exception) -> SchedulingError:
    """The error of an attempt that a plugin's exception ends. For loops, where `guard` is slow."""
    if isinstance(error, SchedulingError):
        return error
    detail = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return PluginError(plugin, point, detail)
