"""What keeps a plugin class from doing what its class line says: hooks that are not written, or
not as they are called."""

import difflib
import inspect
from collections.abc import Iterator
from types import FunctionType
from typing import Final

from moorage.framework.plugin import Plugin
from moorage.framework.points import POINTS, points_of

_NEEDED: Final[dict[str, tuple[str, ...]]] = {
    "preEnqueue": ("pre_enqueue",),
    "queueSort": ("sort_key",),
    "preFilter": ("pre_filter",),
    "filter": ("filter", "filter_all"),
    "postFilter": ("post_filter",),
    "preScore": ("pre_score",),
    "score": ("score", "score_all"),
    "permit": ("permit",),
    "preBind": ("pre_bind",),
    "bind": ("bind",),
    "postBind": ("post_bind",),
}
"""By extension point, the hooks of which one has to be written. Reserve needs none."""


def hook_faults(plugin: type[Plugin]) -> list[str]:
    """What is wrong with a class, each line with what to write."""
    return [*_unwritten(plugin), *_misdeclared(plugin)]


def is_written(plugin: type[Plugin], point: str, hook: str) -> bool:
    """Whether a class that lists a point has a hook of its own there."""
    base = POINTS[point]
    return issubclass(plugin, base) and getattr(plugin, hook) is not getattr(base, hook)


def _unwritten(plugin: type[Plugin]) -> Iterator[str]:
    for point in POINTS:
        hooks = _NEEDED.get(point, ()) if point in points_of(plugin) else ()
        if hooks and not any(is_written(plugin, point, hook) for hook in hooks):
            lacks = f"neither {' nor '.join(hooks)}" if len(hooks) > 1 else f"no {hooks[0]}"
            yield f"{plugin.__name__} has {lacks}: write one{_instead(plugin, hooks)}"
    if is_written(plugin, "filter", "filter_all") and not is_written(plugin, "filter", "rejection"):
        yield f"{plugin.__name__} has filter_all and no rejection to explain its codes"


def _instead(plugin: type[Plugin], hooks: tuple[str, ...]) -> str:
    """The method that may have been meant for a hook."""
    own = [name for name, value in vars(plugin).items() if isinstance(value, FunctionType)]
    similar = [found for hook in hooks for found in difflib.get_close_matches(hook, own, 1)]
    return f"; is {similar[0]} meant to be it?" if similar else ""


def _misdeclared(plugin: type[Plugin]) -> Iterator[str]:
    """Hooks that cannot be called with what they are given."""
    for base in (Plugin, *(POINTS[point] for point in POINTS if point in points_of(plugin))):
        for name, hook in vars(base).items():
            if name.startswith("_") or getattr(plugin, name) is getattr(base, name):
                continue
            fault = None
            if isinstance(hook, FunctionType):
                fault = _uncallable(plugin, name, hook)
            elif isinstance(hook, classmethod) and not _is_classmethod(plugin, name):
                fault = f"{plugin.__name__}.{name}{_place(plugin, name)} is not a @classmethod"
            if fault is not None:
                yield fault


def _uncallable(plugin: type[Plugin], name: str, hook: FunctionType) -> str | None:
    own = inspect.getattr_static(plugin, name)
    given = list(inspect.signature(hook).parameters)
    if isinstance(own, staticmethod):
        del given[0]
        own = own.__func__
    if not isinstance(own, FunctionType):
        return None
    signature = inspect.signature(own)
    try:
        signature.bind(*given)
    except TypeError:
        takes, called = ", ".join(signature.parameters), ", ".join(given)
        place = _place(plugin, name)
        return f"{plugin.__name__}.{name}{place} takes ({takes}), and is called with ({called})"
    return None


def _is_classmethod(plugin: type[Plugin], name: str) -> bool:
    return isinstance(inspect.getattr_static(plugin, name), classmethod)


def _place(plugin: type[Plugin], name: str) -> str:
    function = inspect.unwrap(getattr(plugin, name))
    code = getattr(function, "__code__", None)
    return "" if code is None else f" (line {code.co_firstlineno})"
