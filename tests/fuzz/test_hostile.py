"""A thousand hostile objects on every run; `make fuzz INPUTS=1000000 ONLY=hostile` for more."""

from typing import Any

import msgspec
import pytest

from moorage.api.kinds import KINDS
from moorage.api.meta import ApiStruct, KubeObject, QuantityText
from moorage.kube import response_decoder
from tests.fuzz import hostile_batch
from tests.fuzz.hostile_objects import with_value
from tests.fuzz.hostile_values import QUANTITIES, values
from tests.fuzz.places import KEY, SERVERS_OWN, known_names, of_kind, place_named, places

OBJECTS = 125


@pytest.mark.parametrize("batch", range(8))
def test_victims_are_placed_and_everybody_is_answered_beside_hostile_objects(batch: int) -> None:
    found = hostile_batch.run(1, batch, OBJECTS)

    assert found.lines() == []
    assert found.inputs == OBJECTS
    assert found.bound >= 7 * OBJECTS // hostile_batch.TOGETHER


def test_every_field_of_every_kind_is_a_place_and_has_hostile_values() -> None:
    found = {(place.kind, place.path[0]) for place in places()}
    wanted = {
        (kind, field.encode_name)
        for kind in KINDS
        for field in msgspec.structs.fields(KINDS[kind].struct)
    }

    assert wanted <= found
    assert all(values(place, None) for place in places())


def test_a_field_that_is_added_is_a_place_at_once() -> None:
    class Inner(ApiStruct):
        share: QuantityText = "0"

    class Added(KubeObject):
        new_list: tuple[Inner, ...] = ()
        new_map: dict[str, Inner] = msgspec.field(default_factory=dict)

    found = {place.path: place for place in of_kind("Added", Added)}

    assert ("newList",) in found
    assert values(found["newList", 0, "share"], None) == QUANTITIES
    assert values(found["newMap", KEY, "share"], None) == QUANTITIES
    assert not {path[1] for path in found if path[0] == "metadata"} & SERVERS_OWN


def test_labels_and_annotations_are_found_where_the_source_names_them() -> None:
    assert {"alibabacloud.com/gpu-count", "scheduling.x-k8s.io/pod-group"} <= set(known_names())
    assert not {"apps/v1", "resource.k8s.io/v1beta1"} & set(known_names())


def alone(text: str, value: object) -> list[str]:
    """What is found of one object with this value at a place."""
    objects = [with_value(place_named(text), value)]
    return hostile_batch.together_in([objects]).lines()


LONG = "9" * 4_400
NESTED = {"a": msgspec.Raw(b"[" * 4_900 + b"]" * 4_900)}


def nothing(*_: object, **__: object) -> None:
    """No check."""


def as_it_is(decode: Any, text: bytes) -> Any:
    """JSON, as deep as the decoder goes."""
    return decode(text)


MENDS = {
    "quantities are limited and checked": (
        ["moorage.kube.response_decoder.refuse_bad_quantities"],
        nothing,
        "Pod.spec.containers.0.resources.requests.cpu",
        LONG,
    ),
    "JSON of any depth is read": (
        ["moorage.kube.response_decoder.decode_any_depth"],
        as_it_is,
        "ResourceClaim.spec.devices.config.0.opaque.parameters",
        NESTED,
    ),
    "explain asks no filter that was not prepared": (
        ["moorage.explain.world.Question.asked"],
        property(lambda question: question.found.active),
        "Pod.spec.volumes.0.ephemeral.volumeClaimTemplate.spec.volumeName",
        "x",
    ),
    "a selector of terms is no map of labels": (
        ["moorage.recording.anonymous_objects._is_plain"],
        lambda value: True,
        "ResourceSlice.spec.nodeSelector.nodeSelectorTerms.0.matchFields.0.key",
        "x",
    ),
}


@pytest.mark.long
@pytest.mark.parametrize(("where", "old", "place", "value"), MENDS.values(), ids=MENDS)
def test_a_mend_that_is_taken_out_is_found(
    monkeypatch: pytest.MonkeyPatch, where: list[str], old: Any, place: str, value: object
) -> None:
    with_the_mend = alone(place, value)
    response_decoder.decoder_for.cache_clear()
    for target in where:
        monkeypatch.setattr(target, old)
    try:
        without = alone(place, value)
    finally:
        response_decoder.decoder_for.cache_clear()

    assert with_the_mend == []
    assert without != []
