"""Who had to leave for whom is remembered, and the oldest is forgotten first."""

import msgspec

from moorage.observe.decision_records import DecisionRecords
from moorage.observe.eviction_records import CAPACITY, EvictionRecords
from moorage.observe.observers import Observers
from moorage.observe.records import Evicted

LEFT = Evicted(
    pod="batch/report",
    uid="1",
    node="a",
    priority=0,
    by="shop/web",
    by_uid="2",
    by_priority=100,
    what="pod",
    room_on="a",
    profile="default-scheduler",
    way="deletion",
    time=7.0,
)


def test_it_is_found_by_victim_and_by_preemptor() -> None:
    records = DecisionRecords()

    Observers([records]).evicted(LEFT)

    assert records.evictions.of_victim("batch/report") == [LEFT]
    assert records.evictions.of_preemptor("shop/web") == [LEFT]
    assert records.evictions.of_victim("shop/web") == []
    assert records.evictions.of_preemptor("batch/report") == []
    assert len(records) == 0


def test_victims_of_a_group_are_those_of_its_pods_but_a_pod_of_that_name_is_no_group() -> None:
    records = EvictionRecords()
    by_group = msgspec.structs.replace(LEFT, by="ml/train", what="podgroup")
    records.evicted(by_group)
    records.evicted(msgspec.structs.replace(LEFT, by="ml/train", what="pod"))

    assert records.of_preemptor("ml/train-0", "ml/train") == [by_group]
    assert records.of_preemptor("ml/train-0") == []


def test_memory_is_bounded() -> None:
    records = EvictionRecords()
    for number in range(CAPACITY + 3):
        records.evicted(msgspec.structs.replace(LEFT, pod=f"batch/{number}"))

    assert len(records) == CAPACITY
    assert records.of_victim("batch/2") == []
    assert len(records.of_victim("batch/3")) == 1
