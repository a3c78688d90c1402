"""Which changes are worth a try for a pod that found too little of something."""

import pytest

from moorage.api.meta import ObjectMeta
from moorage.api.resource_slices import DeviceClass, DeviceClassSpec
from moorage.framework.events import Hint
from moorage.plugins.node_resources.fit import after_device_class_change, after_node_change
from moorage.testing import PodBuilder, node, pod

GPU = "example.com/gpu"


def device_class(stands_for: str | None = GPU) -> DeviceClass:
    return DeviceClass(
        metadata=ObjectMeta(name="gpu"), spec=DeviceClassSpec(extended_resource_name=stands_for)
    )


def asking(resource: str = GPU) -> PodBuilder:
    return pod("p").requesting({resource: "1"}, cpu="1")


@pytest.mark.parametrize(
    ("old", "new", "resource", "want"),
    [
        pytest.param(None, device_class(), GPU, Hint.QUEUE, id="it stands for what is asked"),
        pytest.param(None, device_class(), "example.com/nic", Hint.SKIP, id="for something else"),
        pytest.param(device_class(None), device_class(), GPU, Hint.QUEUE, id="it does from now on"),
        pytest.param(device_class(), device_class(), GPU, Hint.SKIP, id="it did before"),
        pytest.param(
            None, device_class(None), "deviceclass.resource.kubernetes.io/gpu", Hint.QUEUE,
            id="a class stands for its own name",
        ),
        pytest.param(
            device_class(), device_class(None), "deviceclass.resource.kubernetes.io/gpu", Hint.SKIP,
            id="its name was there before",
        ),
    ],
)  # fmt: skip
def test_a_device_class(
    old: DeviceClass | None, new: DeviceClass, resource: str, want: Hint
) -> None:
    assert after_device_class_change(asking(resource).build(), old, new) is want


@pytest.mark.parametrize(
    ("classes", "want"),
    [({GPU: device_class()}, Hint.QUEUE), ({}, Hint.SKIP)],
    ids=["devices may be there instead", "nothing stands for it"],
)
def test_a_new_node_that_does_not_offer_what_devices_may(
    classes: dict[str, DeviceClass], want: Hint
) -> None:
    new = node("n").build()

    assert after_node_change(asking().build(), None, new, classes.get) is want


def test_a_new_node_that_offers_too_little_is_too_little_whatever_stands_for_it() -> None:
    few = node("n").offering({GPU: "1"}).build()
    wanted = pod("p").requesting({GPU: "2"}, cpu="1").build()

    assert after_node_change(wanted, None, few, {GPU: device_class()}.get) is Hint.SKIP


@pytest.mark.parametrize(
    ("classes", "want"),
    [({GPU: device_class()}, Hint.QUEUE), ({}, Hint.SKIP)],
    ids=["devices may be there instead", "nothing stands for it"],
)
def test_a_node_that_no_longer_offers_what_it_had_too_little_of(
    classes: dict[str, DeviceClass], want: Hint
) -> None:
    few, none = node("n").offering({GPU: "1"}).build(), node("n").build()
    wanted = pod("p").requesting({GPU: "2"}, cpu="1").build()

    assert after_node_change(wanted, few, none, classes.get) is want


def test_a_new_node_need_not_offer_what_the_profile_ignores() -> None:
    nothing: dict[str, DeviceClass] = {}
    asks, new = asking().build(), node("n").build()

    assert after_node_change(asks, None, new, nothing.get, {GPU}.__contains__) is Hint.QUEUE
