"""A few thousand inputs on every run; `make fuzz INPUTS=1000000` for more."""

import gc
import itertools
import time
from typing import Any

import pytest

from moorage.cache.cache import Cache
from moorage.framework.verdicts import PluginError
from moorage.kube import response_decoder
from tests.fuzz import cluster_batch, config_batch
from tests.fuzz.time_limit import Hang, time_limit

OBJECTS, CONFIGURATIONS = 250, 150


@pytest.mark.parametrize("batch", range(8))
def test_the_loop_outlives_any_objects_and_names_those_it_refuses(batch: int) -> None:
    found = cluster_batch.run(1, batch, OBJECTS)

    assert found.lines() == []
    assert found.inputs == OBJECTS
    assert found.attempts > 0
    assert found.refused["not decoded"] > 0


@pytest.mark.parametrize("batch", range(4))
def test_any_configuration_is_taken_or_refused_with_a_reason(batch: int) -> None:
    found = config_batch.run(1, batch, CONFIGURATIONS)

    assert found.lines() == []
    assert 0 < found.refused["configuration"] < CONFIGURATIONS


def test_a_check_that_is_left_out_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def unchecked(obj: object) -> None:
        return None

    response_decoder.decoder_for.cache_clear()
    monkeypatch.setattr(response_decoder, "refuse_bad_quantities", unchecked)
    try:
        batches = [cluster_batch.run(1, batch, OBJECTS) for batch in range(4)]
    finally:
        response_decoder.decoder_for.cache_clear()

    assert any("QuantityError" in line for found in batches for line in found.lines())


def test_what_a_plugin_says_is_a_refusal_and_what_it_trips_over_is_none() -> None:
    said = PluginError("DynamicResources", "Filter", "the pool is being updated")
    tripped = PluginError("DynamicResources", "Filter", "KeyError: 'gpu'")
    tripped.__cause__ = KeyError("gpu")

    assert cluster_batch.refusal_of(said) is said
    assert cluster_batch.refusal_of(tripped) is None


def test_a_hang_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(*_: Any) -> None:
        while True:
            time.monotonic()

    monkeypatch.setattr(Cache, "put_node", endless)
    monkeypatch.setattr("tests.fuzz.time_limit.SECONDS", 0.2)
    found = cluster_batch.run(1, 0, OBJECTS)
    gc.collect()  # tasks that were interrupted complain when they are freed: here, and nowhere else

    assert [line.split(" at ")[0].strip() for line in found.lines()] == ["1 x hang"]


def test_the_limit_is_on_the_time_of_the_processor() -> None:
    with time_limit(0.05):
        time.sleep(0.1)

    with pytest.raises(Hang), time_limit(0.05):
        for _ in itertools.count():
            pass
