"""Configurations as people write them load, whatever version and shape they come in.

`fixtures` has one of each shape, and tests/data/seeds what they were modelled on.
"""

from pathlib import Path

import pytest

from moorage.config import scheduling_policy, yaml_documents, yaml_dump
from moorage.config.loader import load
from moorage.config.plugin_catalogue import PluginInfo
from moorage.config.resolved_profile import Enabled, resolve
from moorage.config.types import KIND
from tests.unit.config.test_seeds_yaml import BLOCKS

FIXTURES = Path(__file__).parent / "fixtures"
BETA3 = "kubescheduler.config.k8s.io/v1beta3 is deprecated and converted to v1"


def test_every_configuration_in_the_documents_loads() -> None:
    found = {block.where: block.text for block in BLOCKS if KIND in block.text}

    for where, text in found.items():
        configuration = load(text, source=where).configuration
        assert load(yaml_dump.dump_configuration(configuration)).configuration == configuration, (
            where
        )
    assert len(found) == 9


def test_every_policy_in_the_documents_loads() -> None:
    found = [
        p
        for block in BLOCKS
        if scheduling_policy.KIND in block.text
        for p in scheduling_policy.load_policies(block.text)
    ]

    assert [p.name for p in found] == ["default-policy", "gpu-policy", "batch-policy"]


@pytest.mark.parametrize(
    ("file", "warnings"),
    [
        ("custom_plugins", [f"1: apiVersion: {BETA3}"]),
        (
            "deployment_and_config_map",
            [f"30: ConfigMap accelerators data[accelerators.yaml]: apiVersion: {BETA3}"],
        ),
        ("weights_and_prices", [f"2: apiVersion: {BETA3}"]),
        ("near_miss", [f"1: apiVersion: {BETA3}"]),
        (
            "explicit_points",
            [
                "1: apiVersion: kubescheduler.config.k8s.io/v1beta2 is deprecated and converted to "
                "v1; default weights are those of v1 (TaintToleration 3, NodeAffinity 2, "
                "InterPodAffinity 2; v1beta2 had 1)"
            ],
        ),
        (
            "everything",
            [
                f"24: ConfigMap everything data[scheduler.yaml]: apiVersion: {BETA3}",
                *(
                    f"{line}: ConfigMap everything data[scheduler.yaml]: profiles[0].plugins.filter"
                    f'.enabled[{index}]: plugin "{name}" no longer exists, NodeVolumeLimits takes '
                    "its place: NodeVolumeLimits counts the volumes of every driver"
                    for line, index, name in (
                        (50, 7, "EBSLimits"),
                        (51, 8, "GCEPDLimits"),
                        (53, 10, "AzureDiskLimits"),
                    )
                ),
            ],
        ),
        (
            "misplaced_extenders",
            [
                "13: profiles[0].extenders: moved to the top: all profiles share the extenders",
                '8: profiles[0].plugins.filter.enabled[0]: ignored: plugin "DefaultPreemption" '
                "does not extend FilterPlugin plugin, only preEnqueue, postFilter, "
                "podGroupPostFilter",
            ],
        ),
        ("one_plugin_at_two_points", []),
    ],
)
def test_warnings(file: str, warnings: list[str]) -> None:
    loaded = load((FIXTURES / f"{file}.yaml").read_bytes(), source="f")

    assert list(loaded.warnings) == [f"f:{warning}" for warning in warnings]


def points(file: str) -> dict[str, tuple[Enabled, ...]]:
    (profile,) = load((FIXTURES / f"{file}.yaml").read_bytes()).configuration.profiles
    return resolve(profile).points


def test_custom_plugins_run_after_the_defaults() -> None:
    got = points("custom_plugins")

    assert got["score"][0] == ("NodeResourcesFit", 1)
    assert got["score"][-1] == ("TailoredScore", 1)
    assert got["filter"][0].name == "NodeResourcesFit"
    assert got["filter"][-1].name == "TailoredFilter"
    assert "InterPodAffinity" not in [name for name, _ in got["preScore"]]


def test_weights_are_those_given() -> None:
    got = points("weights_and_prices")["score"]

    assert (got[0], got[-1]) == (("NodeResourcesFit", 30), ("Thrift", 70))


def test_explicit_points_come_first_and_defaults_follow() -> None:
    got = points("explicit_points")

    assert [name for name, _ in got["filter"]][:5] == [
        "NodeUnschedulable",
        "NodeName",
        "TaintToleration",
        "NodeAffinity",
        "NodePorts",
    ]
    assert got["score"][:3] == (
        ("NodeResourcesBalancedAllocation", 1),
        ("ImageLocality", 1),
        ("TaintToleration", 3),
    )


def test_everything_spelled_out() -> None:
    configuration = load((FIXTURES / "everything.yaml").read_bytes()).configuration
    resolved = resolve(configuration.profiles[0])

    assert configuration.percentage_of_nodes_to_score == 50
    assert configuration.leader_election.resource_name == "kube-scheduler"
    assert [name for name, _ in resolved.points["filter"]].count("NodeVolumeLimits") == 1
    assert resolved.points["score"][:2] == (("NodeResourcesFit", 1), ("InterPodAffinity", 1))
    spread = resolved.args["PodTopologySpread"]
    assert [c["maxSkew"] for c in spread["defaultConstraints"]] == [3, 5]


def test_a_misplaced_extender_is_an_extender() -> None:
    configuration = load((FIXTURES / "misplaced_extenders.yaml").read_bytes()).configuration

    (extender,) = configuration.extenders
    assert (extender.url_prefix, extender.prioritize_verb) == (
        "http://localhost:8888",
        "prioritize",
    )
    assert extender.http_timeout.seconds == 5


def test_a_near_miss_is_named_once_plugins_are_known() -> None:
    known = {
        name: PluginInfo(name, frozenset({"score"}), None) for name in ("Nearness", "EvenLoad")
    }

    loaded = load((FIXTURES / "near_miss.yaml").read_bytes(), known=known, unknown_plugins="warn")

    assert 'plugin "NodeAffinityPlugin" is not known and is left out' in loaded.warnings[1]
    assert 'did you mean "NodeAffinity"?' in loaded.warnings[1]


def test_policies() -> None:
    found = scheduling_policy.load_policies((FIXTURES / "policies.yaml").read_bytes())

    assert [p.name for p in found] == ["default", "accelerated", "batch"]


@pytest.mark.parametrize("file", sorted(FIXTURES.glob("*.yaml")), ids=lambda file: file.stem)
def test_fixtures_are_all_of_a_kind_we_load(file: Path) -> None:
    kinds = (KIND, scheduling_policy.KIND)

    assert any(yaml_documents.find_documents(file.read_bytes(), kind) for kind in kinds)
