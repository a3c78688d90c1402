import copy
from typing import Any

import pytest

from moorage.memory import patches
from moorage.watch.api_errors import ServerError
from moorage.watch.api_server import Raw


@pytest.mark.parametrize(
    ("target", "patch", "want"),
    [
        pytest.param({"a": 1}, {"b": 2}, {"a": 1, "b": 2}, id="a new field is added"),
        pytest.param({"a": 1}, {"a": 2}, {"a": 2}, id="a field is replaced"),
        pytest.param({"a": 1, "b": 2}, {"a": None}, {"b": 2}, id="null removes a field"),
        pytest.param({}, {"a": None}, {}, id="null removes nothing where nothing is"),
        pytest.param({"a": [1, 2]}, {"a": [3]}, {"a": [3]}, id="a list is replaced"),
        pytest.param(
            {"a": {"b": 1, "c": 2}}, {"a": {"b": None}}, {"a": {"c": 2}}, id="maps are merged"
        ),
        pytest.param({"a": [1]}, {"a": {"b": 1}}, {"a": {"b": 1}}, id="a map replaces a list"),
        pytest.param(
            {}, {"a": {"b": None, "c": 1}}, {"a": {"c": 1}}, id="a new map is made without nulls"
        ),
    ],
)
def test_merge(target: Raw, patch: Raw, want: Any) -> None:
    before = copy.deepcopy(target)

    assert patches.json_merge_patch(target, patch) == want
    assert target == before


READY = {"type": "Ready", "status": "True"}
UNREADY = {"type": "Ready", "status": "False", "reason": "R"}
SCHEDULED = {"type": "PodScheduled", "status": "True"}


@pytest.mark.parametrize(
    ("target", "patch", "want"),
    [
        pytest.param(
            {"conditions": [READY]},
            {"conditions": [SCHEDULED]},
            {"conditions": [SCHEDULED, READY]},
            id="a condition of a new type is added, in front",
        ),
        pytest.param(
            {"conditions": [READY, SCHEDULED]},
            {"conditions": [UNREADY]},
            {"conditions": [UNREADY, SCHEDULED]},
            id="a condition of a known type is merged in its place",
        ),
        pytest.param(
            {"conditions": [SCHEDULED, READY]},
            {"conditions": [UNREADY]},
            {"conditions": [SCHEDULED, UNREADY]},
            id="what came before a condition on the server still does",
        ),
        pytest.param(
            {"conditions": [UNREADY]},
            {"conditions": [{"type": "Ready", "reason": None}]},
            {"conditions": [{"type": "Ready", "status": "False"}]},
            id="null removes a field of a condition",
        ),
        pytest.param(
            {"conditions": [READY, SCHEDULED]},
            {"conditions": [{"type": "Ready", "$patch": "delete"}]},
            {"conditions": [SCHEDULED]},
            id="a condition can be deleted",
        ),
        pytest.param(
            {"conditions": [READY, SCHEDULED]},
            {"conditions": [{"$patch": "replace"}, UNREADY]},
            {"conditions": [UNREADY]},
            id="all conditions can be replaced",
        ),
        pytest.param(
            {"conditions": [READY, SCHEDULED]},
            {
                "$setElementOrder/conditions": [{"type": "PodScheduled"}, {"type": "Ready"}],
                "conditions": [UNREADY],
            },
            {"conditions": [SCHEDULED, UNREADY]},
            id="the order of conditions can be set",
        ),
        pytest.param(
            {"finalizers": ["a"]},
            {"finalizers": ["b", "a"]},
            {"finalizers": ["b", "a"]},
            id="finalizers are a set",
        ),
        pytest.param(
            {"finalizers": ["a", "b"]},
            {"$deleteFromPrimitiveList/finalizers": ["a"]},
            {"finalizers": ["b"]},
            id="finalizers can be taken away",
        ),
        pytest.param(
            {"tolerations": [{"key": "a"}]},
            {"tolerations": [{"key": "b"}]},
            {"tolerations": [{"key": "b"}]},
            id="tolerations are replaced",
        ),
        pytest.param(
            {"taints": [{"key": "a"}]},
            {"taints": []},
            {"taints": []},
            id="taints are replaced",
        ),
        pytest.param(
            {"containers": [{"name": "c", "image": "a", "ports": [{"containerPort": 80}]}]},
            {"containers": [{"name": "c", "ports": [{"containerPort": 81}]}]},
            {
                "containers": [
                    {
                        "name": "c",
                        "image": "a",
                        "ports": [{"containerPort": 81}, {"containerPort": 80}],
                    }
                ]
            },
            id="lists inside merged lists are merged",
        ),
        pytest.param(
            {"spec": {"a": 1}},
            {"spec": {"$patch": "replace", "b": 2}},
            {"spec": {"b": 2}},
            id="a map can be replaced",
        ),
        pytest.param(
            {"spec": {"a": 1}},
            {"spec": {"$patch": "delete"}},
            {"spec": {}},
            id="a map can be emptied",
        ),
        pytest.param(
            {"a": 1, "b": 2},
            {"$retainKeys": ["b", "c"], "c": 3},
            {"b": 2, "c": 3},
            id="only the retained keys stay",
        ),
        pytest.param(
            {"a": {"b": 1}}, {"a": {"c": 2}}, {"a": {"b": 1, "c": 2}}, id="maps are merged"
        ),
        pytest.param({"a": {"b": 1}}, {"a": None}, {}, id="null removes a field"),
    ],
)
def test_strategic(target: Raw, patch: Raw, want: Raw) -> None:
    before = copy.deepcopy(target)

    assert patches.strategic_merge_patch(target, patch) == want
    assert target == before


def test_an_item_without_its_merge_key_is_refused() -> None:
    with pytest.raises(ServerError, match="does not contain declared merge key: type"):
        patches.strategic_merge_patch({}, {"conditions": [{"status": "True"}]})


def test_what_a_patch_does_not_touch_is_shared() -> None:
    target = {"spec": {"a": 1}, "status": {"b": 2}}

    assert patches.strategic_merge_patch(target, {"status": {"b": 3}})["spec"] is target["spec"]
    assert patches.json_merge_patch(target, {"status": {"b": 3}})["spec"] is target["spec"]
