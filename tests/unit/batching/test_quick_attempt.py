"""A quick attempt chooses what an attempt in full chooses, ties included."""

import random
from functools import partial

import numpy as np
import pytest

from moorage import kernels
from moorage.api.pod import Pod
from moorage.api.taints import Taint, Toleration
from moorage.app.profile_builder import build_profiles
from moorage.batching.quick_attempt import QuickAttempts
from moorage.cache.cache import Cache
from moorage.cache.podinfo import PodInfo
from moorage.cycle import attempt
from moorage.cycle.attempt import Decision
from moorage.cycle.profile import Profile
from moorage.framework.cycle import Cycle
from moorage.framework.draws import tie_key
from moorage.simulate.candidate import Candidate
from moorage.simulate.pod_template import GPU_MODEL_LABEL, Asked, Templates
from moorage.simulate.trace_files import make_node
from tests.unit.simulate.scenarios import KUBE, PACKING

RATIO = Candidate(
    "ratio",
    "ratio.yaml",
    b"""
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: RequestedToCapacityRatio
        resources: [{name: cpu, weight: 1}]
        requestedToCapacityRatio:
          shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]
""",
)
WEIGHED = Candidate(
    "weighed",
    "weighed.yaml",
    b"""
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: LeastAllocated
        resources: [{name: cpu, weight: 3}, {name: memory, weight: 1}]
  plugins:
    multiPoint:
      enabled: [{name: NodeResourcesFit, weight: 5}]
""",
)


SEED = 5


def profile_of(candidate: Candidate) -> Profile:
    loaded = candidate.load()
    guard = loaded.moorage.plugin_guard
    profiles = build_profiles(loaded.configuration, candidate.plugins(), guard)
    return next(iter(profiles.values()))


def cluster(rng: random.Random, count: int) -> Cache:
    """Nodes of several sizes; some are cordoned, some tainted, some have another GPU."""
    cache = Cache()
    for i in range(count):
        offered = {
            "cpu": rng.choice(("4", "8")),
            "memory": rng.choice(("8Gi", "16Gi")),
            "pods": rng.choice(("3", "110")),
            "nvidia.com/gpu": "2",
        }
        node = make_node(f"n{i}", offered, {GPU_MODEL_LABEL: rng.choice(("A100", "T4"))})
        taints = (Taint(key="dedicated", effect="NoSchedule"),) if rng.random() < 0.2 else ()
        spec = type(node.spec)(taints=taints, unschedulable=rng.random() < 0.1)
        cache.put_node(type(node)(metadata=node.metadata, spec=spec, status=node.status))
    return cache


def pods(rng: random.Random, count: int, scheduler: str) -> list[Pod]:
    templates = Templates(shares_gpus=False)
    found = []
    for i in range(count):
        asked = Asked(
            cpu=rng.choice(("", "500m", "1", "3")),
            memory=rng.choice(("", "1Gi", "3Gi")),
            gpu=rng.choice((0, 0, 1)),
            gpu_model=rng.choice(("", "", "A100", "V100")),
            tolerations=(Toleration(operator="Exists"),) if rng.random() < 0.3 else (),
            scheduler=scheduler,
        )
        template = templates.of(asked)
        metadata = type(Pod().metadata)(name=f"p{i}", namespace="default", uid=f"u{i}")
        found.append(Pod(metadata=metadata, spec=template.spec))
    return found


def in_full(profile: Profile, cache: Cache, info: PodInfo) -> object:
    outcome = attempt.run(profile, cycle_of(profile, cache, info))
    if isinstance(outcome, Decision):
        return outcome.node
    diagnosis = outcome.diagnosis
    return frozenset(diagnosis.unschedulable_plugins), frozenset(diagnosis.pending_plugins)


def cycle_of(profile: Profile, cache: Cache, info: PodInfo) -> Cycle:
    return Cycle(cache, info, seed=SEED, shared=profile.shared)


@pytest.mark.parametrize("candidate", [KUBE, PACKING, WEIGHED], ids=lambda each: each.name)
@pytest.mark.parametrize("seed", range(6))
def test_it_chooses_the_same(candidate: Candidate, seed: int) -> None:
    story = random.Random(seed)
    profile, cache = profile_of(candidate), cluster(random.Random(seed), 12)
    quick = QuickAttempts(profile, cache, lambda info: cycle_of(profile, cache, info))
    placed, refused = [], 0
    for pod in pods(story, 150, profile.scheduler_name):
        info = cache.info(pod)
        totals = quick.totals(info)
        assert totals is not None
        chosen = quick.choose(totals, partial(tie_key, SEED, info.uid, 1))
        expected = in_full(profile, cache, info)
        if chosen is None:
            refused += 1
            assert (totals.refused_by, totals.pending) == expected
        else:
            assert chosen == expected
            cache.assume(info, chosen)
            placed.append(info)
        if placed and story.random() < 0.3:
            cache.forget(placed.pop(story.randrange(len(placed))))
        if story.random() < 0.05:
            cache.put_node(make_node("late", {"cpu": "8", "memory": "8Gi", "pods": "9"}, {}))
    assert placed
    assert refused


def test_what_it_does_not_know_is_attempted_in_full() -> None:
    for candidate, is_known in ((KUBE, True), (RATIO, False)):
        profile, cache = profile_of(candidate), cluster(random.Random(1), 12)
        (wanted,) = pods(random.Random(1), 1, profile.scheduler_name)

        quick = QuickAttempts(profile, cache, partial(cycle_of, profile, cache))
        totals = quick.totals(cache.info(wanted))

        assert (totals is not None) == is_known


@pytest.mark.parametrize(
    ("weight", "is_known"),
    [
        pytest.param(21_474_835, True, id="the largest whose totals fit"),
        pytest.param(21_474_836, False, id="one more"),
        pytest.param(40_000_000, False, id="totals that would wrap to less than nothing"),
        pytest.param(2**31 - 1, False, id="the largest that there is"),
        pytest.param(-1, False, id="totals below zero"),
    ],
)
def test_totals_beyond_their_column_are_attempted_in_full(weight: int, is_known: bool) -> None:
    """There sums are int64, as in kube-scheduler."""
    text = WEIGHED.text.replace(b"weight: 5}", b"weight: %d}" % weight)
    profile, cache = profile_of(Candidate("w", "w.yaml", text)), Cache()
    for name, cores in (("small", "2"), ("large", "64"), ("middle", "8")):
        cache.put_node(make_node(name, {"cpu": cores, "memory": "64Gi", "pods": "9"}, {}))
    asked = Templates(shares_gpus=False).of(Asked(cpu="1", scheduler=profile.scheduler_name))
    wanted = cache.info(Pod(spec=asked.spec))
    quick = QuickAttempts(profile, cache, partial(cycle_of, profile, cache))

    totals = quick.totals(wanted)

    assert (totals is not None) == is_known
    assert in_full(profile, cache, wanted) == ("large" if weight > 0 else "small")
    if totals is not None:
        assert quick.choose(totals, partial(tie_key, SEED, "u", 1)) == "large"


def test_nodes_that_some_plugin_prefers_are_attempted_in_full() -> None:
    """A taint that is better avoided makes nodes differ by more than what is free."""
    profile, cache = profile_of(KUBE), cluster(random.Random(1), 12)
    quick = QuickAttempts(profile, cache, partial(cycle_of, profile, cache))
    plain = Templates(shares_gpus=False).of(Asked(cpu="1", scheduler=profile.scheduler_name))
    wanted = cache.info(Pod(spec=plain.spec))
    assert quick.totals(wanted) is not None

    node = make_node("soft", {"cpu": "8", "memory": "8Gi", "pods": "9"}, {})
    spec = type(node.spec)(taints=(Taint(key="soft", effect="PreferNoSchedule"),))
    cache.put_node(type(node)(metadata=node.metadata, spec=spec, status=node.status))

    assert quick.totals(wanted) is None


def test_columns_of_different_lengths_are_refused() -> None:
    if not kernels.built:
        pytest.skip("the kernels were not compiled")
    best = kernels.built["best"]
    short, long = np.zeros(2, dtype=np.int64), np.zeros(3, dtype=np.int64)
    spec = (np.ones(3, dtype=bool), long, short, (), (), True, 1, (), 0)

    with pytest.raises(ValueError, match="length"):
        best(np.zeros(3, dtype=np.int32), None, spec)
    whole = (np.ones(3, dtype=bool), long, long + 1, (), (), True, 1, (), 0)
    with pytest.raises(ValueError, match="beyond"):
        best(np.zeros(3, dtype=np.int32), [3], whole)
    assert best(np.zeros(3, dtype=np.int32), None, whole) == (0, 3)
