"""Tolerations cover taints as in Kubernetes, with comparison operators off."""

import pytest

from moorage.api.taints import Taint, Toleration, find_untolerated, tolerates

GPU = Taint(key="gpu", value="a100", effect="NoSchedule")
SPOT = Taint(key="spot", effect="NoExecute")
SLOW = Taint(key="slow", value="5", effect="PreferNoSchedule")


@pytest.mark.parametrize(
    ("toleration", "taint", "want"),
    [
        pytest.param(
            Toleration(key="gpu", operator="Equal", value="a100", effect="NoSchedule"), GPU, True,
            id="equal key, value and effect tolerate",
        ),
        pytest.param(
            Toleration(key="gpu", value="a100"), GPU, True,
            id="no operator means Equal, no effect means any",
        ),
        pytest.param(
            Toleration(key="gpu", value="h100"), GPU, False, id="another value does not tolerate"
        ),
        pytest.param(
            Toleration(key="gpu"), GPU, False, id="Equal without a value asks for an empty value"
        ),
        pytest.param(
            Toleration(key="spot"), SPOT, True, id="Equal without a value tolerates an empty value"
        ),
        pytest.param(
            Toleration(key="gpu", operator="Exists"), GPU, True, id="Exists takes any value"
        ),
        pytest.param(
            Toleration(key="gpu", operator="Exists", value="h100"), GPU, True,
            id="Exists does not look at its value",
        ),
        pytest.param(
            Toleration(key="cpu", operator="Exists"), GPU, False, id="another key does not tolerate"
        ),
        pytest.param(
            Toleration(operator="Exists"), GPU, True, id="Exists without a key tolerates everything"
        ),
        pytest.param(
            Toleration(operator="Exists", effect="NoExecute"), GPU, False,
            id="another effect does not tolerate",
        ),
        pytest.param(
            Toleration(value="a100"), GPU, True, id="Equal without a key compares values alone"
        ),
        pytest.param(
            Toleration(key="slow", operator="Lt", value="9"), SLOW, False, id="Lt never tolerates"
        ),
        pytest.param(
            Toleration(key="slow", operator="Gt", value="1"), SLOW, False, id="Gt never tolerates"
        ),
        pytest.param(
            Toleration(key="gpu", operator="exists"), GPU, False,
            id="an unknown operator never tolerates",
        ),
    ],
)  # fmt: skip
def test_tolerates(toleration: Toleration, taint: Taint, want: bool) -> None:
    assert want is tolerates(toleration, taint)


HARD = ("NoSchedule", "NoExecute")


@pytest.mark.parametrize(
    ("taints", "tolerations", "want"),
    [
        pytest.param((), (), None, id="no taints, nothing to tolerate"),
        pytest.param((SLOW,), (), None, id="a taint with another effect is not looked at"),
        pytest.param((GPU, SPOT), (), GPU, id="the first untolerated taint is returned"),
        pytest.param(
            (GPU, SPOT), (Toleration(key="gpu", operator="Exists"),), SPOT,
            id="a tolerated taint is passed over",
        ),
        pytest.param(
            (GPU, SPOT), (Toleration(key="x"), Toleration(operator="Exists")), None,
            id="one toleration that covers suffices",
        ),
    ],
)  # fmt: skip
def test_find_untolerated(
    taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...], want: Taint | None
) -> None:
    assert want == find_untolerated(taints, tolerations, HARD)
