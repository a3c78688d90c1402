"""Which failures of pods are a kubelet's refusal to admit them."""

import pytest

from moorage.scheduler.kubelet_rejections import is_rejection
from moorage.testing import pod


@pytest.mark.parametrize(
    ("reason", "want"),
    [
        ("OutOfcpu", True),
        ("OutOfnvidia.com/gpu", True),
        ("UnexpectedAdmissionError", True),
        ("TopologyAffinityError", True),
        ("NodeAffinity", True),
        ("NodePorts", True),
        ("Evicted", False),
        ("", False),
    ],
)
def test_reasons(reason: str, want: bool) -> None:
    made = pod("p").on("a")
    made.raw["status"] = {"phase": "Failed", "reason": reason}

    assert is_rejection(made.build()) is want
