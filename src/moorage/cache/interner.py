"""The interner: small integer ids in place of values, so that columns can hold them."""

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class Interner(Generic[T]):
    """Ids are given to values in the order in which they are first seen, and never reused."""

    __slots__ = ("_ids", "values")

    def __init__(self, values: Iterable[T] = ()) -> None:
        self.values: list[T] = []
        self._ids: dict[T, int] = {}
        for value in values:
            self.intern(value)

    def intern(self, value: T) -> int:
        found = self._ids.get(value)
        if found is None:
            found = self._ids[value] = len(self.values)
            self.values.append(value)
        return found

    def find(self, value: T) -> int | None:
        return self._ids.get(value)

    def __len__(self) -> int:
        return len(self.values)
