"""How pods ask for GPUs, what nodes say of theirs, and what device plugins read."""

import json

import pytest

from moorage.cache.cache import Cache
from moorage.policies.gpu.devices import annotations
from moorage.policies.gpu.devices.annotations import Holding
from moorage.policies.gpu.devices.node_devices import NodeDevices, Reader, read_devices
from moorage.policies.gpu.devices.pod_dialects import (
    InvalidRequest,
    gpu_request,
    request_of_bound,
)
from moorage.policies.gpu.gpu_request import GPURequest
from moorage.testing import PodBuilder, node, pod

GPU = "nvidia.com/gpu"
HAMI = (
    "GPU-a,10,32768,100,NVIDIA-V100,0,true,0,hami-core:"
    "GPU-b,10,32768,100,NVIDIA-V100,1,false,1,hami-core:"
)


@pytest.mark.parametrize(
    ("asked", "want"),
    [
        pytest.param(pod("p"), (0, 0, 0), id="nothing"),
        pytest.param(pod("p").requesting({GPU: "2"}), (2, 1000, 0), id="whole GPUs"),
        pytest.param(
            pod("p").annotated({"alibabacloud.com/gpu-milli": "460"}), (1, 460, 0), id="gpu-milli"
        ),
        pytest.param(
            pod("p").annotated({"alibabacloud.com/gpu-count": "8"}), (8, 1000, 0), id="gpu-count"
        ),
        pytest.param(pod("p").annotated({"gpu-fraction": "0.25"}), (1, 250, 0), id="KAI's part"),
        pytest.param(
            pod("p").annotated({"gpu-memory": "2000", "gpu-fraction-num-devices": "2"}),
            (2, 1, 2000),
            id="KAI's memory on two devices",
        ),
        pytest.param(
            pod("p").requesting({GPU: "1", "nvidia.com/gpumem": "3000"}), (1, 1, 3000), id="HAMi"
        ),
        pytest.param(
            pod("p").requesting({GPU: "2", "nvidia.com/gpucores": "30"}),
            (2, 300, 0),
            id="HAMi's cores",
        ),
        pytest.param(
            pod("p").requesting(
                {"volcano.sh/vgpu-number": "1", "volcano.sh/vgpu-memory-percentage": "40"}
            ),
            (1, 400, 0),
            id="Volcano's percentage of memory",
        ),
        pytest.param(
            pod("p").requesting({"volcano.sh/vgpu-number": "2"}), (2, 1000, 0), id="Volcano's whole"
        ),
    ],
)
def test_what_a_pod_asks_for(asked: PodBuilder, want: tuple[int, int, int]) -> None:
    found = gpu_request(Cache().info(asked.build()))

    assert (found.gpus, found.milli, found.gpu_memory) == want


HUGE = str(2**63 - 1)


@pytest.mark.parametrize(
    ("asked", "want"),
    [
        pytest.param(
            {GPU: "2", "alibabacloud.com/gpu-count": "8"}, (2, 1000), id="a count beyond it"
        ),
        pytest.param({GPU: "2", "alibabacloud.com/gpu-count": "1"}, (1, 1000), id="a count below"),
        pytest.param({GPU: "1", "alibabacloud.com/gpu-milli": "0"}, (1, 1000), id="nothing of it"),
        pytest.param(
            {GPU: "1", "gpu-fraction": "0.5", "gpu-fraction-num-devices": "9"},
            (1, 500),
            id="a part of more devices",
        ),
        pytest.param(
            {GPU: HUGE, "amd.com/gpu": HUGE}, (1_000_000, 1000), id="more than int64 in all"
        ),
    ],
)
def test_annotations_count_up_to_what_is_requested(
    asked: dict[str, str], want: tuple[int, int]
) -> None:
    resources = {name: amount for name, amount in asked.items() if name.endswith("com/gpu")}
    said = {name: text for name, text in asked.items() if name not in resources}

    found = gpu_request(Cache().info(pod("p").requesting(resources).annotated(said).build()))

    assert (found.gpus, found.milli) == want


@pytest.mark.parametrize("text", ["²", "٣", "-1", "9" * 20, "9" * 5_000, "1e3", ""])
@pytest.mark.parametrize("name", ["alibabacloud.com/gpu-count", "alibabacloud.com/gpu-milli"])
def test_a_count_that_is_none_is_refused_by_name_and_not_there_once_bound(
    name: str, text: str
) -> None:
    info = Cache().info(pod("p").requesting({GPU: "2"}).annotated({name: text}).build())

    with pytest.raises(InvalidRequest, match=f"annotation {name}: ") as error:
        gpu_request(info)
    assert len(str(error.value)) < 200
    assert request_of_bound(info).gpus == 2


def test_memory_beyond_any_device_stays_a_number() -> None:
    asked = Cache().info(pod("p").requesting({GPU: "1", "nvidia.com/gpumem": HUGE}).build())

    assert gpu_request(asked).on(1).milli == 1001


def test_memory_becomes_a_share_of_the_device() -> None:
    asked = GPURequest(1, 1, 1, 300, gpu_memory=3_000)

    assert asked.on(32_768).milli == 300
    assert asked.on(6_000).milli == 500
    assert asked.on(2_000).milli > 1000
    assert asked.on(0).milli > 1000


def test_a_register_of_hami_names_devices_domains_and_health() -> None:
    found = read_devices(node("a").annotated({"hami.io/node-nvidia-register": HAMI}).build())

    assert (found.number, found.memory, found.reader) == (2, 32_768, Reader.HAMI)
    assert (found.uuids, found.numa, found.sick) == (("GPU-a", "GPU-b"), (0, 1), frozenset({1}))


def registered(*devices: dict[str, object]) -> str:
    return json.dumps(devices)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(registered({"count": 10, "devmem": 1000}), id="no id"),
        pytest.param(registered({"id": 7}), id="an id of another type"),
        pytest.param(registered({"id": "a", "devmem": "much"}), id="memory in words"),
        pytest.param(registered({"id": "a", "devmem": 10**30}), id="memory beyond int64"),
        pytest.param(registered({"id": "a", "devmem": -1}), id="memory below zero"),
        pytest.param(registered({"id": "a", "numa": 10**12}), id="a domain beyond int32"),
        pytest.param('[{"id": "a", "devmem": ' + "9" * 5_000 + "}]", id="5,000 digits"),
        pytest.param("[" * 50_000, id="lists in lists"),
        pytest.param('{"id": "a"}', id="no list"),
        pytest.param("GPU-a,4,²,T4,true:", id="a superscript"),
        pytest.param("GPU-a,4,16000,100,T4,-9,true:", id="a domain below zero"),
        pytest.param("GPU-a,4:", id="too few fields"),
    ],
)
def test_a_register_of_another_shape_offers_nothing(text: str) -> None:
    there = node("a").offering({GPU: "4"}).annotated({"hami.io/node-nvidia-register": text})

    assert read_devices(there.build()) == NodeDevices(reader=Reader.HAMI)


@pytest.mark.parametrize("text", ["²", "-1", "9" * 20, "9" * 5_000, "many"])
def test_labels_that_are_no_numbers_are_as_if_not_there(text: str) -> None:
    names = ("alibabacloud.com/gpu-count", "nvidia.com/gpu.memory", "moorage.io/gpus-per-numa")
    there = node("a").offering({GPU: "4"})

    said = there.labelled(dict.fromkeys(names, text)).annotated({"moorage.io/gpu-numa": text})

    assert read_devices(said.build()) == read_devices(there.build())
    assert read_devices(there.build()).number == 4


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("GPU-a,4,16000,NVIDIA-T4,true:GPU-b,4,16000,NVIDIA-T4,true:", id="fields"),
        pytest.param(
            json.dumps([{"id": i, "count": 4, "devmem": 16000, "type": "T4"} for i in "ab"]),
            id="JSON",
        ),
    ],
)
def test_a_register_of_volcano(text: str) -> None:
    found = read_devices(node("a").annotated({"volcano.sh/node-vgpu-register": text}).build())

    assert (found.number, found.memory, found.reader) == (2, 16_000, Reader.VOLCANO)


def test_a_register_that_cannot_be_read_offers_nothing() -> None:
    assert read_devices(
        node("a").annotated({"hami.io/node-nvidia-register": "GPU-a,x"}).build()
    ) == NodeDevices(reader=Reader.HAMI)


def test_domains_are_told_by_device_or_by_size() -> None:
    four = node("a").offering({GPU: "4"})
    assert read_devices(four.labelled({"moorage.io/gpus-per-numa": "2"}).build()).numa == (
        *(0, 0, 1, 1),
    )
    told = four.annotated({"moorage.io/gpu-nvlink": "0,1,1,0", "moorage.io/gpu-numa": "0,1"})
    assert (read_devices(told.build()).links, read_devices(told.build()).numa) == ((0, 1, 1, 0), ())


def test_what_hami_and_volcano_read() -> None:
    devices = NodeDevices(2, "V100", 32_768, Reader.HAMI, ("GPU-a", "GPU-b"))
    asked = pod("p").requesting({GPU: "1", "nvidia.com/gpumem": "3000"}).build()
    said = annotations.written(asked, "n", Holding((1,), 92), devices, 9.5)

    assert said["hami.io/vgpu-devices-to-allocate"] == "GPU-b,NVIDIA,3000,0:;"
    assert said["hami.io/vgpu-node"] == "n"
    assert (said["hami.io/vgpu-time"], said["hami.io/bind-phase"]) == ("9", "allocating")

    asked = pod("p").requesting({"volcano.sh/vgpu-number": "2"}).build()
    devices = devices._replace(reader=Reader.VOLCANO)
    said = annotations.written(asked, "n", Holding((0, 1), 1000), devices, 9.5)
    assert said["volcano.sh/vgpu-ids-new"] == "GPU-a,NVIDIA,32768,0:GPU-b,NVIDIA,32768,0:;"
