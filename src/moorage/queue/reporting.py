"""Plugins that raise where no attempt can fail for it: they are named, and the queue goes on."""

from collections.abc import Callable

from moorage.framework.verdicts import PluginError

Report = Callable[[PluginError], None]
"""What is to be done about a plugin that raised."""


def problem(plugin: str, point: str, error: Exception) -> PluginError:
    """The error in the words of the one who has to be told."""
    detail = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    found = PluginError(plugin, point, detail)
    found.__cause__ = error
    return found


def ignore(error: PluginError) -> None:
    """Tell nobody."""
