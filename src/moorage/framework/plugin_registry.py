"""The registry of plugin classes by name, for built-in and third-party plugins alike."""

import inspect
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from moorage.cache.column_cache import Depends
from moorage.framework.plugin import Plugin
from moorage.framework.points import POINTS, points_of


class RegistryError(ValueError):
    """A class that cannot serve as a plugin, or a name that is taken."""


class Registry(Mapping[str, type[Plugin]]):
    """A checked table of plugin classes; aliases are names too."""

    def __init__(self, plugins: Iterable[type[Plugin]] = ()) -> None:
        self._plugins: dict[str, type[Plugin]] = {}
        for plugin in plugins:
            self.add(plugin)

    def add(self, plugin: Any) -> None:
        """Add a plugin class; RegistryError if it is not a valid plugin, or a name is taken."""
        if not (isinstance(plugin, type) and issubclass(plugin, Plugin)):
            raise RegistryError(
                f"{plugin!r} is not a plugin: it must derive from Filter, Score ..."
            )
        if not points_of(plugin):
            raise RegistryError(f"{plugin.__name__} lists no extension point on its class line")
        _check_attributes(plugin)
        _check_fields(plugin)
        _check_awaited(plugin)
        _check_needs(plugin)
        for name in (plugin.plugin_name(), *plugin.aliases):
            other = self._plugins.get(name, plugin)
            if other is not plugin:
                raise RegistryError(
                    f"there is already a plugin named {name} ({other.__module__}): give yours "
                    "another name"
                )
            self._plugins[name] = plugin

    def copy(self) -> "Registry":
        copied = Registry()
        copied._plugins.update(self._plugins)
        return copied

    def __getitem__(self, name: str) -> type[Plugin]:
        return self._plugins[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._plugins)

    def __len__(self) -> int:
        return len(self._plugins)


_ATTRIBUTES: Final[dict[str, tuple[Any, str]]] = {
    "aliases": (tuple, 'a tuple of names, as in ("Other",)'),
    "depends": (Depends, "flags of Depends, as in Depends.NODE | Depends.USAGE"),
    "carried": (Mapping, "a mapping of keys"),
    "needs": (Mapping, "a mapping of points"),
    "resort_seconds": (int | float, "a number of seconds"),
}


def _check_attributes(plugin: type[Plugin]) -> None:
    """Class attributes that the engine reads are what it takes them for."""
    for name, (kind, wanted) in _ATTRIBUTES.items():
        value = getattr(plugin, name, None)
        if value is not None and not isinstance(value, kind):
            raise RegistryError(f"{plugin.__name__}.{name} is {value!r}: it should be {wanted}")


def _check_fields(plugin: type[Plugin]) -> None:
    """Arguments can be decoded by the types of the fields."""
    if plugin.__struct_fields__:
        try:
            msgspec.structs.fields(plugin)
        except Exception as error:
            raise RegistryError(
                f"{plugin.__name__}: the types of its fields cannot be read: "
                f"{type(error).__name__}: {error}; import them where the module runs"
            ) from error


def _check_awaited(plugin: type[Plugin]) -> None:
    """Only hooks that the engine awaits, those of PreBind and Bind, may be coroutines."""
    bases = [Plugin, *(POINTS[point] for point in points_of(plugin))]
    for name, hook in ((name, hook) for base in bases for name, hook in vars(base).items()):
        if inspect.isfunction(hook) and not _is_async(hook) and _is_async(getattr(plugin, name)):
            raise RegistryError(
                f"{plugin.__name__}.{name} is an `async def`, and nobody waits for what it "
                "answers: write it with `def`; only `pre_bind` and `bind` may wait"
            )


def _is_async(function: Any) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)


_NEEDING = ("filter", "preScore", "score")


def _check_needs(plugin: type[Plugin]) -> None:
    """`needs` must name points of the plugin itself, and only points that the engine checks."""
    own = points_of(plugin)
    for point, needed in plugin.needs.items():
        if point not in _NEEDING:
            names = ", ".join(_NEEDING)
            raise RegistryError(f"{plugin.__name__}.needs: {point!r} is none of {names}")
        for name in (point, needed):
            if name not in own:
                raise RegistryError(
                    f"{plugin.__name__}.needs: the class line does not list the point {name!r}"
                )
