from moorage.preemption.underway import Underway


def test_a_preemptor_is_held_from_the_first_eviction_to_the_last() -> None:
    underway = Underway()

    assert not underway.holds("pod")
    underway.begin("pod")
    assert underway.holds("pod")
    underway.end("pod")
    assert not underway.holds("pod")


def test_others_are_not_held() -> None:
    underway = Underway()
    underway.begin("pod")

    assert not underway.holds("other")


def test_at_the_end_only_the_last_victim_holds() -> None:
    underway = Underway()
    there = {"last"}
    underway.begin("pod")
    underway.last("pod", lambda: "last" in there)

    assert underway.holds("pod")
    there.clear()
    assert not underway.holds("pod")
    assert len(underway) == 1, "the edge has still to say that it is done"


def test_a_last_victim_without_a_preemption_holds_nobody() -> None:
    underway = Underway()
    underway.last("pod", lambda: True)

    assert not underway.holds("pod")


def test_ending_twice_does_no_harm() -> None:
    underway = Underway()
    underway.end("pod")

    assert not len(underway)
