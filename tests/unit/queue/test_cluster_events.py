import pytest

from moorage.framework.events import (
    ANY_EVENT,
    UNSCHEDULABLE_TIMEOUT,
    Action,
    ClusterEvent,
    Resource,
)


def event(resource: Resource, action: Action) -> ClusterEvent:
    return ClusterEvent(resource, action)


@pytest.mark.parametrize(
    ("registered", "incoming", "want"),
    [
        pytest.param(
            event(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL),
            event(Resource.NODE, Action.UPDATE_NODE_LABEL),
            True,
            id="one of several actions is enough",
        ),
        pytest.param(
            event(Resource.NODE, Action.UPDATE),
            event(Resource.NODE, Action.UPDATE_NODE_TAINT),
            True,
            id="a special update is an update",
        ),
        pytest.param(
            event(Resource.NODE, Action.ADD | Action.UPDATE_NODE_TAINT),
            event(Resource.NODE, Action.UPDATE),
            False,
            id="an update of no special kind is not a special one",
        ),
        pytest.param(
            event(Resource.POD, Action.DELETE),
            event(Resource.ASSIGNED_POD, Action.DELETE),
            True,
            id="Pod stands for pods on nodes",
        ),
        pytest.param(
            event(Resource.POD, Action.UPDATE_POD_LABEL),
            event(Resource.TARGET_POD, Action.UPDATE_POD_LABEL),
            True,
            id="Pod stands for the refused pod itself",
        ),
        pytest.param(
            event(Resource.ASSIGNED_POD, Action.ALL),
            event(Resource.TARGET_POD, Action.UPDATE_POD_LABEL),
            False,
            id="a pod on a node is not the refused pod",
        ),
        pytest.param(
            event(Resource.WILDCARD, Action.ADD),
            event(Resource.CSI_NODE, Action.ADD),
            True,
            id="the wildcard stands for every resource",
        ),
        pytest.param(
            event(Resource.WILDCARD, Action.ADD),
            event(Resource.CSI_NODE, Action.DELETE),
            False,
            id="the wildcard does not stand for every action",
        ),
        pytest.param(ANY_EVENT, UNSCHEDULABLE_TIMEOUT, True, id="any event is any event"),
        pytest.param(
            event(Resource.NODE, Action.ALL),
            UNSCHEDULABLE_TIMEOUT,
            False,
            id="a wildcard that came in is no event of a node",
        ),
    ],
)
def test_a_registered_event_stands_for(
    registered: ClusterEvent, incoming: ClusterEvent, want: bool
) -> None:
    assert registered.matches(incoming) is want


@pytest.mark.parametrize(
    ("named", "want"),
    [
        (event(Resource.NODE, Action.ADD), "NodeAdd"),
        (event(Resource.POD, Action.UPDATE), "PodUpdate"),
        (event(Resource.CSI_NODE, Action.DELETE), "storage.k8s.io/CSINodeDelete"),
        (
            event(Resource.TARGET_POD, Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED),
            "TargetPodUpdatePodSchedulingGatesEliminated",
        ),
        (UNSCHEDULABLE_TIMEOUT, "UnschedulableTimeout"),
    ],
)
def test_events_have_kube_schedulers_names(named: ClusterEvent, want: str) -> None:
    assert named.name == want
