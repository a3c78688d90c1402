"""The rule of QuietRacks; the engine is the real one."""

from quiet_racks import TOO_LOUD, QuietRacks

from moorage.testing import Cluster, node, pod

NOISE = "example.com/noise"
CLUSTER = Cluster(
    node("loud").labelled({NOISE: "90"}),
    node("soft").labelled({NOISE: "20"}),
    node("silent"),
    plugins=[QuietRacks()],
)
SENSITIVE = pod("trading").labelled({"example.com/quiet": "true"})


def test_the_less_noise_the_higher_the_score() -> None:
    scores = CLUSTER.scores(pod("web"), "QuietRacks")

    assert scores == {"loud": 10, "soft": 80, "silent": 100}


def test_a_pod_that_needs_quiet_stays_off_loud_racks() -> None:
    assert set(CLUSTER.scores(SENSITIVE, "QuietRacks")) == {"soft", "silent"}


def test_a_pod_that_finds_no_quiet_is_told_why() -> None:
    loud = Cluster(node("loud").labelled({NOISE: "90"}), plugins=[QuietRacks()])

    assert TOO_LOUD in loud.why_not(SENSITIVE)
