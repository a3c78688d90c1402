"""Trees of groups: who is whose root, what is enough, and in which order they are tried."""

from moorage.api.decode import decode_as
from moorage.api.podgroup import CompositePodGroup, PodGroup
from moorage.gang import hierarchy
from moorage.gang.directory import Directory
from moorage.gang.hierarchy import Forest, Home
from tests.unit.gang.composite_groups import composite, leaf
from tests.unit.gang.gang_world import Raw


def made(raw: Raw) -> PodGroup:
    kind = CompositePodGroup if raw["kind"] == "CompositePodGroup" else PodGroup
    return decode_as(raw, kind)


def forest(*raws: Raw) -> Forest:
    found = Forest()
    for raw in raws:
        found.put(made(raw))
    return found


ROOT = "default/compositepodgroup/root"
TREE = (
    composite("root", 2),
    composite("a", None, "root"),
    leaf("a1", 3, "a"),
    leaf("a2", 2, "a"),
    leaf("b", 4, "root"),
    leaf("c", 9, "root"),
)


def test_a_group_is_below_the_root_of_all_its_ancestors() -> None:
    found = forest(*TREE)

    assert found.home(made(leaf("a1", 3, "a"))) == Home(ROOT)
    assert found.home(made(leaf("x", 3))) == Home("default/x")


def test_an_ancestor_that_is_missing_is_named() -> None:
    found = forest(composite("a", 1, "gone"), leaf("a1", 3, "a"))

    assert found.home(made(leaf("a1", 3, "a"))) == Home(
        "default/a1", "default/compositepodgroup/gone"
    )


def test_a_circle_has_no_root() -> None:
    found = forest(composite("a", 1, "b"), composite("b", 1, "a"), leaf("x", 1, "a"))

    assert found.home(made(leaf("x", 1, "a"))).missing == "default/compositepodgroup/a"
    assert [each.name for each in found.leaves(made(composite("a", 1, "b")))] == ["x"]


def test_a_parent_means_nothing_where_composite_groups_are_not_served() -> None:
    found = forest(leaf("x", 1, "gone"))
    found.served = False

    assert found.home(made(leaf("x", 1, "gone"))) == Home("default/x")


def test_it_is_enough_when_each_has_the_groups_it_needs() -> None:
    tree = forest(*TREE).tree(made(TREE[0]))

    assert tree.has({"default/a2": 2, "default/b": 4})
    assert not tree.has({"default/a1": 3, "default/a2": 2})
    assert not tree.has({"default/a1": 2, "default/b": 4})
    assert tree.least == 6


def test_the_oldest_child_is_tried_first() -> None:
    young, old = leaf("a", 1, "root"), leaf("b", 1, "root")
    young["metadata"]["creationTimestamp"] = "2026-01-02T00:00:00Z"
    old["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"

    tree = forest(composite("root", 1), young, old).tree(made(composite("root", 1)))

    assert [branch.obj.name for branch in tree.leaves()] == ["b", "a"]


def test_names_of_both_kinds_are_told_apart() -> None:
    same = hierarchy.object_key(made(composite("x", 1))), hierarchy.object_key(made(leaf("x", 1)))

    assert [hierarchy.title(key) for key in same] == [
        "CompositePodGroup default/x",
        "PodGroup default/x",
    ]


def test_the_directory_forgets_a_tree_that_is_gone() -> None:
    groups = Directory({"default-scheduler"})
    for raw in TREE:
        groups.put_object(made(raw))
    assert [group.key for group in groups] == [ROOT]

    for raw in reversed(TREE):
        groups.remove_object(made(raw))

    groups.validate()
    assert list(groups) == []


def test_a_tree_that_loses_its_root_falls_apart() -> None:
    groups = Directory({"default-scheduler"})
    for raw in TREE:
        groups.put_object(made(raw))

    groups.remove_object(made(TREE[0]))

    groups.validate()
    waits = {group.key: group.waits_for for group in groups}
    assert waits == dict.fromkeys(("default/a1", "default/a2", "default/b", "default/c"), ROOT)


def test_orphans_are_plain_groups_where_composite_groups_are_not_served() -> None:
    groups = Directory({"default-scheduler"})
    groups.put_object(made(leaf("x", 1, "gone")))
    group = groups.get("default/x")
    assert group is not None
    assert group.waits_for

    groups.composites_served(False)

    assert not group.waits_for
