"""What a pod requests, in the dialects in use: whole GPUs, gpu-milli, gpu-fraction, vGPUs.

| dialect   | how                                                                                  |
|-----------|--------------------------------------------------------------------------------------|
| whole     | the resource `nvidia.com/gpu`, or another of GPU_RESOURCE_NAMES                      |
| simulated | the resource `moorage/gpu-milli`, in traces and scenarios: below 1000, a share       |
| gpu-milli | annotations `alibabacloud.com/gpu-milli`, `gpu-count`, `gpu-card-model`              |
| KAI       | annotations `gpu-fraction` or `gpu-memory` (MiB), `gpu-fraction-num-devices`         |
| HAMi      | `nvidia.com/gpu` with `nvidia.com/gpumem` (MiB), `gpumem-percentage`, `gpucores`     |
| Volcano   | `volcano.sh/vgpu-number`, `vgpu-memory`, `vgpu-memory-percentage`, `vgpu-cores`      |

Annotations ask for devices where no resource does. A pod that requests GPUs as a resource gets no
more of them by annotations.

`alibabacloud.com/gpu-card-model` or `moorage.io/gpu-models` name models, separated by `|`.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from moorage.api.annotations import read_int
from moorage.cache.podinfo import CPU, MEMORY, PodInfo
from moorage.policies.gpu.gpu_request import WHOLE, GPURequest
from moorage.policies.gpu.gpu_resources import GPU_RESOURCE_NAMES

MILLI: Final = "alibabacloud.com/gpu-milli"
COUNT: Final = "alibabacloud.com/gpu-count"
CARD_MODEL: Final = "alibabacloud.com/gpu-card-model"
MODELS: Final = "moorage.io/gpu-models"
SIMULATED: Final = "moorage/gpu-milli"
FRACTION: Final = "gpu-fraction"
FRACTION_MEMORY: Final = "gpu-memory"
FRACTION_DEVICES: Final = "gpu-fraction-num-devices"


class VirtualNames(NamedTuple):
    """A dialect's resource names: the number of virtual GPUs, and the part of each device."""

    number: str
    memory: str
    percentage: str
    cores: str


VIRTUAL: Final = (
    VirtualNames(
        "nvidia.com/gpu", "nvidia.com/gpumem", "nvidia.com/gpumem-percentage", "nvidia.com/gpucores"
    ),
    VirtualNames(
        "volcano.sh/vgpu-number",
        "volcano.sh/vgpu-memory",
        "volcano.sh/vgpu-memory-percentage",
        "volcano.sh/vgpu-cores",
    ),
)

MOST_GPUS: Final = 1_000_000
MOST_MEMORY: Final = 1_000_000_000
"""Numbers of devices, and of MiB, beyond any node; sums of them stay far within int64."""

_MEMO = "gpu-request"
_SHOWN: Final = 40


class InvalidRequest(ValueError):
    """A pod whose annotations for GPUs make no sense."""


def gpu_request(pod: PodInfo) -> GPURequest:
    """What a pod requests; raises InvalidRequest with the annotation's name."""
    memo = pod.cls.memo
    plain: GPURequest | None = memo.get(_MEMO)
    if plain is None:
        plain = memo[_MEMO] = _of_resources(pod)
    said = pod.pod.annotations
    if not said:
        return plain
    return _with_annotations(plain, said)


def request_of_bound(pod: PodInfo) -> GPURequest:
    """What a pod on a node holds; annotations that make no sense are as if they were not there."""
    try:
        return gpu_request(pod)
    except InvalidRequest:
        return pod.cls.memo[_MEMO]  # type: ignore[no-any-return]


def virtual_names(pod: PodInfo) -> VirtualNames | None:
    """The names of the vGPU dialect that a pod uses, or None."""
    asked = pod.cls.named_requests
    for names in VIRTUAL:
        if asked.get(names.number) and any(asked.get(name) for name in names[1:]):
            return names
    return VIRTUAL[1] if asked.get(VIRTUAL[1].number) else None


def _of_resources(pod: PodInfo) -> GPURequest:
    asked = pod.cls.named_requests
    amounts = dict(pod.cls.requests)
    base = GPURequest(amounts.get(CPU, 0), amounts.get(MEMORY, 0))
    names = virtual_names(pod)
    if names is None:
        whole = sum(asked.get(name, 0) for name in GPU_RESOURCE_NAMES)
        if not whole and asked.get(SIMULATED):
            return base._replace(gpus=1, milli=min(asked[SIMULATED], WHOLE))
        whole = min(whole, MOST_GPUS)
        return base._replace(gpus=whole, milli=WHOLE if whole else 0)
    memory = asked.get(names.memory, 0)
    share = max(asked.get(names.percentage, 0), asked.get(names.cores, 0))
    milli = min(share * WHOLE // 100, WHOLE) if share or memory else WHOLE
    return base._replace(
        gpus=min(asked[names.number], MOST_GPUS),
        milli=max(milli, 1),
        gpu_memory=min(memory, MOST_MEMORY),
    )


def _with_annotations(plain: GPURequest, said: Mapping[str, str]) -> GPURequest:
    found = plain
    if MILLI in said or COUNT in said:
        milli = _whole_number(said, MILLI, WHOLE)
        count = _whole_number(said, COUNT, 1 if milli else 0)
        if milli > WHOLE:
            raise InvalidRequest(f"annotation {MILLI}: {milli} of {count} GPUs; 1 to {WHOLE} each")
        if count > 0 and milli > 0:
            found = plain._replace(gpus=_up_to(plain, count), milli=milli)
    elif FRACTION in said:
        count = _up_to(plain, _fraction_devices(said))
        found = plain._replace(gpus=count, milli=_fraction(said[FRACTION]))
    elif FRACTION_MEMORY in said:
        memory = _whole_number(said, FRACTION_MEMORY, 0)
        count = _up_to(plain, _fraction_devices(said))
        found = plain._replace(gpus=count, milli=1, gpu_memory=memory)
    models = said.get(MODELS) or said.get(CARD_MODEL)
    if models and found.gpus:
        found = found._replace(models=frozenset(filter(None, models.split("|"))))
    return found


def _up_to(plain: GPURequest, count: int) -> int:
    return min(count, plain.gpus) if plain.gpus else count


def _fraction(text: str) -> int:
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise InvalidRequest(
            f"annotation {FRACTION}: {text[:_SHOWN]!r} is no part of a GPU, such as 0.5"
        )
    return max(round(share * WHOLE), 1)


def _fraction_devices(said: Mapping[str, str]) -> int:
    return max(_whole_number(said, FRACTION_DEVICES, 1), 1)


def _whole_number(said: Mapping[str, str], name: str, default: int) -> int:
    text = said.get(name)
    if text is None:
        return default
    number = read_int(text.strip(), most=MOST_MEMORY)
    if number is None:
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
        raise InvalidRequest(
            f"annotation {name}: {shown!r} is no whole number up to {MOST_MEMORY:,}"
        )
    return number
