"""A kernel that refuses costs no attempt: its numpy form does the work, and it is counted."""

import logging
from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest

from moorage import kernels
from moorage.batching.class_totals import write_totals
from moorage.batching.quick_attempt import QuickAttempts
from moorage.framework.cycle import Cycle
from moorage.framework.draws import tie_key
from moorage.observe.prometheus_metrics import Metrics
from moorage.policies.gpu.gpu_packing import GPUPacking
from moorage.testing import Cluster, NodeBuilder, node, pod

pytestmark = pytest.mark.skipif(not kernels.built, reason="the kernels were not compiled")


@pytest.fixture(autouse=True)
def _counted_from_zero() -> Iterator[None]:
    yield
    kernels.refusals.clear()


def refuse(*args: object) -> None:
    raise ValueError("more of these than any kernel takes")


def nodes() -> list[NodeBuilder]:
    sizes = ((8, 16), (4, 32), (16, 64), (2, 4), (1, 1))
    return [
        node(f"n{at}").offering(cpu=str(cpu), memory=f"{memory}Gi", **{"nvidia.com/gpu": "4"})
        for at, (cpu, memory) in enumerate(sizes)
    ]


def decisions() -> list[str | None]:
    """Where pods go: in full attempts, in quick ones, and packed by GPU."""
    plain, packing = Cluster(*nodes()), Cluster(*nodes(), plugins=[GPUPacking()])
    asked = [{"cpu": "1500m", "memory": "3Gi"}, {"cpu": "3"}, {"memory": "20Gi"}, {"cpu": "99"}]
    chosen = [plain.place(pod(f"p{at}").requesting(**each)) for at, each in enumerate(asked)]
    with_gpus = [pod(f"g{at}").requesting(cpu="1", **{"nvidia.com/gpu": str(at)}) for at in (1, 2)]
    chosen += [packing.place(each) for each in with_gpus]
    cache, profile = plain.cache, plain.profile
    quick = QuickAttempts(profile, cache, lambda info: Cycle(cache, info, shared=profile.shared))
    for at in range(6):
        info = cache.info(pod(f"q{at}").requesting(cpu="1").build())
        totals = quick.totals(info)
        assert totals is not None
        chosen.append(quick.choose(totals, partial(tie_key, 0, info.uid, 1)))
        if chosen[-1] is not None:
            cache.assume(info, chosen[-1])
    return chosen


@pytest.mark.parametrize("name", kernels.NAMES)
def test_refused(
    name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    compiled = decisions()
    assert not kernels.refusals
    monkeypatch.setitem(kernels.built, name, refuse)

    with caplog.at_level(logging.ERROR, "moorage"):
        assert decisions() == compiled

    assert set(kernels.refusals) == {name}
    assert len(caplog.records) == 1, "the first refusal is logged; all are counted"
    assert caplog.records[0].fields["kernel"] == name  # type: ignore[attr-defined]
    body, _ = Metrics().render()
    count = kernels.refusals[name]
    assert f'moorage_kernel_refusals_total{{kernel="{name}"}} {count}.0' in body.decode()


def test_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = decisions()
    monkeypatch.setattr(kernels, "built", {})

    assert decisions() == compiled


@pytest.mark.parametrize("count", [1, 8, 9, 32, 33, 400])
def test_any_number_of_columns_is_taken(count: int) -> None:
    rng, rows = np.random.default_rng(count), 5
    values = [rng.integers(0, 9, rows) for _ in range(count)]
    offered, used = rng.integers(10, 99, (count, rows)) * 1.0, rng.integers(0, 9, (count, rows))
    out, totals = np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.int32)
    scored = tuple((1.0, 2.0, offered[at], used[at] * 1.0) for at in range(count))
    needed = tuple((column, 1) for column in values)
    pods = np.zeros(rows, dtype=np.int64)
    spec = (np.ones(rows, dtype=bool), pods, pods + 9, needed, scored, True, 1, (), 0)

    found = kernels.run("highest", tuple((column, 1) for column in values), None)
    assert kernels.run("mean_allocated", out, scored, True)
    assert kernels.run("best", totals, None, spec) is not None

    assert found[0] == sum(values).max()  # type: ignore[union-attr]
    percent = np.floor((offered - used - 2.0).clip(0) * 100.0 / offered)
    assert out.tolist() == (percent.sum(axis=0) / count).astype(np.int64).tolist()
    plain = np.zeros(rows, dtype=np.int32)
    write_totals(plain, spec)
    assert totals.tolist() == plain.tolist()
