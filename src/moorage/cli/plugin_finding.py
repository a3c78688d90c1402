"""Where a plugin was found."""

import inspect
from importlib.metadata import entry_points

from moorage.cli import plugin_loading
from moorage.framework.plugin import Plugin
from moorage.plugins.registry import BUILT_IN, ENTRY_POINT, installed


def classes(given: str) -> list[type[Plugin]]:
    """The plugins of one FILE.py or MODULE:CLASS, in alphabetical order."""
    known, before = plugin_loading.load([given]), set(installed().values())
    wanted = given.partition(":")[2]
    found = {
        plugin.__name__: plugin
        for plugin in known.values()
        if (plugin.__name__ == wanted if wanted else plugin not in before)
    }
    return [found[name] for name in sorted(found)]


def source(plugin: type[Plugin]) -> str:
    """In words: built in, an installed package, or a file."""
    if plugin in BUILT_IN:
        return "kube-scheduler's, built in"
    if plugin.__module__.partition(".")[0] == "moorage":
        return "Moorage's policy, built in"
    for entry in entry_points(group=ENTRY_POINT):
        module, _, attribute = entry.value.partition(":")
        if (module, attribute) == (plugin.__module__, plugin.__name__):
            name, version = (entry.dist.name, entry.dist.version) if entry.dist else ("?", "?")
            return f"package {name} {version} ({entry.value})"
    try:
        return f"{inspect.getsourcefile(plugin)}"
    except (OSError, TypeError):
        return plugin.__module__
