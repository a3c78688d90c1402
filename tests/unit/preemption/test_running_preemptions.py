from moorage.preemption.running_preemptions import RunningPreemptions


def test_a_preemptor_is_held_from_the_first_eviction_to_the_last() -> None:
    running = RunningPreemptions()

    assert not running.holds("pod")
    running.begin("pod")
    assert running.holds("pod")
    running.end("pod")
    assert not running.holds("pod")


def test_others_are_not_held() -> None:
    running = RunningPreemptions()
    running.begin("pod")

    assert not running.holds("other")


def test_at_the_end_only_the_last_victim_holds() -> None:
    running = RunningPreemptions()
    there = {"last"}
    running.begin("pod")
    running.last("pod", "last", lambda: "last" in there)

    assert running.holds("pod")
    there.clear()
    assert not running.holds("pod")
    assert len(running) == 1, "the edge has still to say that it is done"


def test_a_last_victim_without_a_preemption_holds_nobody() -> None:
    running = RunningPreemptions()
    running.last("pod", "last", lambda: True)

    assert not running.holds("pod")


def test_ending_twice_does_no_harm() -> None:
    running = RunningPreemptions()
    running.end("pod")

    assert not len(running)


def test_the_last_victim_is_known_until_the_preemption_ends() -> None:
    running = RunningPreemptions()
    for preemptor in ("one", "other"):
        running.begin(preemptor)
        assert not running.is_last("victim")
    running.last("one", "victim", lambda: True)
    running.last("other", "victim", lambda: True)

    running.end("one")
    assert running.is_last("victim")
    running.end("other")
    assert not running.is_last("victim")
