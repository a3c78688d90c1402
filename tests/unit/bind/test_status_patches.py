"""What patches of a pod's status say."""

import pytest

from moorage.api.decode import decode_as
from moorage.api.pod import Pod
from moorage.bind.status_patches import not_scheduled_patch

EARLIER = "2023-11-14T22:13:20Z"
NOW = "2023-11-14T22:20:00Z"


def told(status: str, reason: str) -> Pod:
    """A pod that says this of PodScheduled since earlier."""
    condition = {
        "type": "PodScheduled",
        "status": status,
        "reason": reason,
        "lastTransitionTime": EARLIER,
    }
    raw = {"metadata": {"name": "web"}, "status": {"conditions": [condition]}}
    return decode_as(raw, Pod)


@pytest.mark.parametrize(
    ("pod", "since"),
    [
        pytest.param(Pod(), NOW, id="a first refusal is told as of now"),
        pytest.param(told("False", "Unschedulable"), EARLIER, id="another message"),
        pytest.param(told("False", "SchedulingGated"), EARLIER, id="another reason"),
        pytest.param(told("True", ""), NOW, id="another status"),
    ],
)
def test_a_pod_tells_since_when_it_has_not_been_scheduled(pod: Pod, since: str) -> None:
    patch = not_scheduled_patch(pod, "Unschedulable", "no room", 1_700_000_400.0)

    assert patch["status"]["conditions"][0]["lastTransitionTime"] == since


def test_a_condition_tells_which_generation_of_the_pod_was_refused() -> None:
    edited = decode_as({"metadata": {"name": "web", "generation": 3}}, Pod)
    patch = not_scheduled_patch(edited, "Unschedulable", "no room", 1_700_000_400.0)

    assert patch["status"]["conditions"][0]["observedGeneration"] == 3
