"""A scheduler that is given no configuration runs what kube-scheduler runs."""

import pytest

from moorage import KUBE_VERSION
from moorage.config import default_plugins
from moorage.config.durations import Duration
from moorage.config.loader import default_configuration, load
from moorage.config.plugin_catalogue import PluginInfo
from moorage.config.resolved_profile import resolve
from moorage.config.types import API_VERSION, KIND

FILTERS = (
    "NodeName NodeUnschedulable TaintToleration NodeAffinity NodePorts NodeResourcesFit "
    "VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread "
    "InterPodAffinity DynamicResources NodeDeclaredFeatures"
)


@pytest.mark.parametrize(
    ("point", "names"),
    [
        ("preEnqueue", "SchedulingGates DynamicResources DefaultPreemption"),
        ("queueSort", "PrioritySort"),
        ("preFilter", FILTERS),
        ("filter", FILTERS),
        ("postFilter", "DynamicResources DefaultPreemption"),
        (
            "preScore",
            "TaintToleration NodeAffinity NodeResourcesFit VolumeBinding PodTopologySpread "
            "InterPodAffinity NodeResourcesBalancedAllocation",
        ),
        ("reserve", "VolumeBinding DynamicResources"),
        ("permit", ""),
        ("preBind", "VolumeBinding DynamicResources"),
        ("bind", "DefaultBinder"),
        ("postBind", ""),
        ("placementGenerate", ""),
        ("podGroupPostFilter", "DynamicResources DefaultPreemption"),
    ],
)
def test_default_plugins(point: str, names: str) -> None:
    (profile,) = default_configuration().profiles

    assert [enabled.name for enabled in resolve(profile).points[point]] == names.split()


def test_default_scores_and_weights() -> None:
    (profile,) = default_configuration().profiles

    assert resolve(profile).points["score"] == (
        ("TaintToleration", 3),
        ("NodeAffinity", 2),
        ("NodeResourcesFit", 1),
        ("VolumeBinding", 1),
        ("PodTopologySpread", 2),
        ("InterPodAffinity", 2),
        ("DynamicResources", 2),
        ("NodeResourcesBalancedAllocation", 1),
        ("ImageLocality", 1),
    )
    assert resolve(profile).points["placementScore"] == (("NodeResourcesFit", 1),)


def test_default_arguments() -> None:
    (profile,) = default_configuration().profiles

    assert resolve(profile).args == {
        "DefaultPreemption": {"minCandidateNodesPercentage": 10, "minCandidateNodesAbsolute": 100},
        "DynamicResources": {"filterTimeout": "10s", "bindingTimeout": "10m0s"},
        "InterPodAffinity": {
            "hardPodAffinityWeight": 1,
            "ignorePreferredTermsOfExistingPods": False,
        },
        "NodeResourcesBalancedAllocation": {
            "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]
        },
        "NodeResourcesFit": {
            "ignoredResources": [],
            "ignoredResourceGroups": [],
            "scoringStrategy": {
                "type": "LeastAllocated",
                "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}],
            },
        },
        "PodTopologySpread": {"defaultConstraints": [], "defaultingType": "System"},
        "VolumeBinding": {
            "bindTimeoutSeconds": 600,
            "shape": [{"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}],
        },
    }


def test_default_settings() -> None:
    configuration = default_configuration()

    assert configuration.profiles[0].scheduler_name == "default-scheduler"
    assert configuration.profiles[0].percentage_of_nodes_to_score is None
    assert configuration.parallelism == 16
    assert configuration.percentage_of_nodes_to_score == 100
    assert configuration.pod_initial_backoff_seconds == 1
    assert configuration.pod_max_backoff_seconds == 10
    assert configuration.enable_profiling is True
    assert configuration.enable_contention_profiling is True
    assert configuration.extenders == ()
    assert configuration.delay_cache_until_active is False
    election, connection = configuration.leader_election, configuration.client_connection
    assert election.leader_elect is True
    assert election.lease_duration == Duration.parse("15s")
    assert election.renew_deadline == Duration.parse("10s")
    assert election.retry_period == Duration.parse("2s")
    assert election.resource_lock == "leases"
    assert (election.resource_namespace, election.resource_name) == (
        "moorage-system",
        "default-scheduler",
    )
    assert (connection.qps, connection.burst) == (50.0, 100)
    assert connection.content_type == "application/vnd.kubernetes.protobuf"


@pytest.mark.parametrize(
    ("given", "profiling", "contention"),
    [
        pytest.param({"enableProfiling": False}, False, False, id="contention follows profiling"),
        pytest.param({"enableContentionProfiling": False}, True, False, id="or is off by itself"),
    ],
)
def test_profiling(given: dict[str, bool], profiling: bool, contention: bool) -> None:
    got = load({"apiVersion": API_VERSION, "kind": KIND, **given}).configuration

    assert (got.enable_profiling, got.enable_contention_profiling) == (profiling, contention)


def test_zeros_and_empty_texts_stand_for_defaults_where_they_do_upstream() -> None:
    document = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "leaderElection": {"leaderElect": False, "leaseDuration": "0s", "resourceLock": ""},
        "clientConnection": {"qps": 0, "burst": 0, "contentType": ""},
        "extenders": [{"urlPrefix": "http://x", "filterVerb": "f", "httpTimeout": "0s"}],
        "profiles": [],
    }

    got = load(document).configuration

    assert got.leader_election.leader_elect is False
    assert got.leader_election.lease_duration == Duration.parse("15s")
    assert got.leader_election.resource_lock == "leases"
    assert got.client_connection == default_configuration().client_connection
    assert got.extenders[0].http_timeout == Duration.parse("5s")
    assert got.profiles == default_configuration().profiles


def test_a_described_plugin_of_kubes_own_may_implement_more_points_but_not_fewer() -> None:
    known = {"ImageLocality": PluginInfo("ImageLocality", frozenset({"filter"}))}

    points = resolve(default_configuration(known).profiles[0]).points

    assert ("ImageLocality", 0) in points["filter"]
    assert ("ImageLocality", 1) in points["score"]


def test_they_are_those_of_the_kube_scheduler_that_moorage_names() -> None:
    assert f"kube-scheduler {KUBE_VERSION} " in (default_plugins.__doc__ or "")
