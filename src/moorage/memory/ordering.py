"""The order of a list after a strategic merge patch."""

from typing import Any


def arranged(items: list[Any], patch: list[Any], server: list[Any], key: str | None) -> list[Any]:
    """The items of a merged list in the order an API server gives them.

    Those that the patch names follow its order, the others theirs on the server; an other comes
    first only where it did so on the server.
    """
    wanted = {_identity(item, key): place for place, item in enumerate(patch)}
    known = {_identity(item, key): place for place, item in enumerate(server)}
    named = [item for item in items if _identity(item, key) in wanted]
    named.sort(key=lambda item: wanted[_identity(item, key)])
    others = [item for item in items if _identity(item, key) not in wanted]
    merged: list[Any] = []
    for item in named:
        place = known.get(_identity(item, key), -1)
        while others and known.get(_identity(others[0], key), place) < place:
            merged.append(others.pop(0))
        merged.append(item)
    return merged + others


def _identity(item: Any, key: str | None) -> Any:
    return item if key is None else item.get(key)
