"""No module reaches itself through its imports, those for type checking included."""

from tests.architecture.module_graph import Graph, cycles, graph


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert [sorted(each) for each in cycles(graph())] == []


def test_a_circle_is_found() -> None:
    edges: Graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set(), "e": {"a"}}

    assert cycles(edges) == [{"a", "b", "c"}]
