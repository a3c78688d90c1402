"""Groups of groups: CompositePodGroups, and the trees that they and PodGroups make.

A PodGroup or CompositePodGroup may name a CompositePodGroup as its parent. An object without a
parent is a root. A root is scheduled as a whole: the pods of its tree are one `Group`.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from moorage.api.podgroup import CompositePodGroup, PodGroup

_COMPOSITE: Final = "/compositepodgroup/"


class Branch(NamedTuple):
    """A CompositePodGroup with its children, or a PodGroup, which is a leaf."""

    obj: PodGroup
    children: tuple["Branch", ...] = ()

    @property
    def is_leaf(self) -> bool:
        return not isinstance(self.obj, CompositePodGroup)

    @property
    def minimum(self) -> int:
        """How many of its pods, or of its children, must fit at once."""
        return max(self.obj.min_count, 1)

    @property
    def least(self) -> int:
        """The least number of pods with which it can be whole."""
        if self.is_leaf:
            return self.minimum
        return sum(sorted(child.least for child in self.children)[: self.minimum])

    def leaves(self) -> Iterator["Branch"]:
        """The PodGroups of the tree, in order."""
        if self.is_leaf:
            yield self
        for child in self.children:
            yield from child.leaves()

    def has(self, pods: Mapping[str, int]) -> bool:
        """Whether these numbers of pods, by PodGroup key, are enough for it."""
        if self.is_leaf:
            return pods.get(self.obj.key, 0) >= self.minimum
        return self.satisfied(pods) >= self.minimum

    def satisfied(self, pods: Mapping[str, int]) -> int:
        """How many of its children have enough pods."""
        return sum(child.has(pods) for child in self.children)

    def contains(self, obj: PodGroup) -> bool:
        """Whether an object is this one, or below it."""
        same = object_key(self.obj) == object_key(obj)
        return same or any(child.contains(obj) for child in self.children)

    def path(self, leaf: str) -> tuple["Branch", ...]:
        """The branches from here down to the PodGroup of a key; empty if it is not below."""
        if self.is_leaf:
            return (self,) if self.obj.key == leaf else ()
        found = next((path for child in self.children if (path := child.path(leaf))), ())
        return (self, *found) if found else ()


class Home(NamedTuple):
    """The key of the `Group` of a PodGroup's pods; `missing` names a missing or cyclic ancestor."""

    key: str
    missing: str = ""


def object_key(obj: PodGroup) -> str:
    """The key of a group; a CompositePodGroup's key differs from that of any PodGroup."""
    return _composite_key(obj.namespace, obj.name) if is_composite(obj) else obj.key


def is_composite(obj: PodGroup) -> bool:
    return isinstance(obj, CompositePodGroup)


def names_composite(key: str) -> bool:
    """Whether a key is a CompositePodGroup's."""
    return _COMPOSITE in key


def title(key: str) -> str:
    """A group as users know it: its kind, namespace and name."""
    namespace, found, name = key.partition(_COMPOSITE)
    return f"CompositePodGroup {namespace}/{name}" if found else f"PodGroup {key}"


def _composite_key(namespace: str, name: str) -> str:
    return f"{namespace}{_COMPOSITE}{name}"


class Forest:
    """CompositePodGroups, and the objects that name one as their parent.

    While CompositePodGroups are not `served`, naming a parent has no effect.
    """

    def __init__(self) -> None:
        self.served = True
        self._composites: dict[str, PodGroup] = {}
        self._children: dict[str, dict[str, PodGroup]] = {}

    def __contains__(self, obj: PodGroup) -> bool:
        """Whether an object belongs here: it is composite, or names a parent."""
        return is_composite(obj) or bool(obj.spec.parent_composite_pod_group_name)

    def put(self, obj: PodGroup) -> None:
        """Take over an object that is new or has changed; its parent cannot change."""
        key, parent = object_key(obj), _parent(obj)
        if is_composite(obj):
            self._composites[key] = obj
        if parent:
            self._children.setdefault(parent, {})[key] = obj

    def remove(self, obj: PodGroup) -> None:
        key, parent = object_key(obj), _parent(obj)
        self._composites.pop(key, None)
        siblings = self._children.get(parent, {})
        siblings.pop(key, None)
        if parent and not siblings:
            self._children.pop(parent, None)

    def leaves(self, obj: PodGroup) -> list[PodGroup]:
        """The PodGroups below an object; the object itself if it is a PodGroup."""
        return [branch.obj for branch in self.tree(obj).leaves()]

    def has(self, obj: PodGroup) -> bool:
        """Whether an object is here as the child of its parent."""
        return object_key(obj) in self._children.get(_parent(obj), {})

    def composites(self) -> list[PodGroup]:
        return list(self._composites.values())

    def orphans(self) -> list[PodGroup]:
        """PodGroups whose parent does not exist."""
        return [
            child
            for parent, children in self._children.items()
            if parent not in self._composites
            for child in children.values()
            if not is_composite(child)
        ]

    def home(self, obj: PodGroup) -> Home:
        """The root of an object's tree; the object itself if an ancestor is missing or cyclic."""
        if not self.served and not is_composite(obj):
            return Home(obj.key)
        found, seen = obj, {object_key(obj)}
        while parent := _parent(found):
            above = self._composites.get(parent)
            if above is None or parent in seen:
                return Home(object_key(obj), parent)
            seen.add(parent)
            found = above
        return Home(object_key(found))

    def root(self, key: str) -> PodGroup | None:
        """The CompositePodGroup of a key; None if there is none, or it has a parent."""
        found = self._composites.get(key)
        return None if found is None or _parent(found) else found

    def tree(self, obj: PodGroup, above: frozenset[str] = frozenset()) -> Branch:
        """An object with all objects below it, the oldest first, as kube-scheduler tries them."""
        if not is_composite(obj):
            return Branch(obj)
        key = object_key(obj)
        below = self._children.get(key, {}).items()
        found = [child for name, child in below if name not in above and name != key]
        found.sort(key=lambda child: (str(child.metadata.creation_timestamp or ""), child.name))
        return Branch(obj, tuple(self.tree(child, above | {key}) for child in found))


def _parent(obj: PodGroup) -> str:
    name = obj.spec.parent_composite_pod_group_name
    return _composite_key(obj.namespace, name) if name else ""
