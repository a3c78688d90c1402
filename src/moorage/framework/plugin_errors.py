"""What a plugin raises, as a PluginError that names the plugin and its extension point."""

from collections.abc import Callable
from types import TracebackType
from typing import NoReturn

from moorage.framework.verdicts import PluginError, SchedulingError

OnPluginError = Callable[[str, PluginError], None]
"""Called with the key of the pod that a plugin was asked about, and the error that it raised."""


def plugin_error(plugin: str, point: str, error: Exception) -> PluginError:
    """The error as a PluginError that names plugin and point; a PluginError is returned as is."""
    if isinstance(error, PluginError):
        return error
    detail = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    found = PluginError(plugin, point, detail)
    found.__cause__ = error
    return found


def ignore_plugin_error(pod: str, error: PluginError) -> None:
    """Ignore the error."""


class as_plugin_error:
    """`with as_plugin_error(plugin, point):` turns what the plugin raises into a PluginError."""

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
            end_attempt(self.plugin, self.point, error)


def end_attempt(plugin: str, point: str, error: Exception) -> NoReturn:
    """Raise a plugin's exception as a PluginError. For loops, where `as_plugin_error` is slow.

    A SchedulingError is raised as it is.
    """
    if isinstance(error, SchedulingError):
        raise error
    detail = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    raise PluginError(plugin, point, detail) from error
