"""Who waits for evictions that are for another pod, and until when."""

from moorage.preemption.shared_orders import SharedOrders


def test_a_pod_waits_until_the_evictions_for_all_others_have_ended() -> None:
    orders = SharedOrders()
    orders.begin("first", ["a", "b"])
    orders.begin("second", ["c"])

    assert orders.join("third", ["b", "c", "d"])
    assert orders.end("first") == []
    assert len(orders) == 1
    assert orders.end("second") == ["third"]
    assert len(orders) == 0


def test_nobody_waits_for_pods_that_are_not_being_evicted() -> None:
    orders = SharedOrders()
    orders.begin("first", ["a"])

    assert orders.end("first") == []
    assert not orders.join("second", ["a"])
    assert len(orders) == 0


def test_a_victim_that_was_spared_may_be_evicted_for_another_before_the_first_is_let_go() -> None:
    orders = SharedOrders()
    orders.begin("first", ["a"])
    orders.begin("second", ["a"])
    orders.join("third", ["a"])
    orders.join("third", ["a"])

    assert orders.end("first") == []
    assert orders.end("second") == ["third"]
    assert len(orders) == 0


def test_several_wait_for_one() -> None:
    orders = SharedOrders()
    orders.begin("first", ["a"])
    orders.join("second", ["a"])
    orders.join("third", ["a"])

    assert orders.end("first") == ["second", "third"]
