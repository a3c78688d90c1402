"""docs/policies.md names every policy, every name and argument of it, and examples that load."""

import re
from pathlib import Path

import msgspec
import pytest
import yaml

from moorage.app import built_in_plugins
from moorage.app.built_in_plugins import POLICIES
from moorage.app.profile_builder import build_profiles
from moorage.config.loader import load
from moorage.feeds import latency_readers
from moorage.framework.points import POINTS, points_of
from moorage.policies.telemetry.metric_sources import EnergyProvider, UsageProvider
from moorage.simulate import simulated_feeds
from moorage.simulate.manifest_files import Manifest

DOCS = (Path(__file__).parents[3] / "docs" / "policies.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", DOCS, re.DOTALL | re.MULTILINE))


def test_every_policy_has_a_section_and_every_section_a_policy() -> None:
    assert SECTIONS.keys() == {policy.plugin_name() for policy in POLICIES}


def row_of(name: str) -> str:
    """The line of the table about a policy: its names and its points."""
    policy = built_in_plugins.installed()[name]
    points = ", ".join(point for point in POINTS if point in points_of(policy))
    aliases = f" {', '.join(policy.aliases)} " if policy.aliases else " "
    return f"| [{name}](#{name.lower()}) |{aliases}| {points} |"


def test_the_table_has_the_names_and_points_of_every_policy() -> None:
    assert [row_of(name) for name in SECTIONS if row_of(name) not in DOCS] == []


def test_every_argument_is_there_and_no_other() -> None:
    listed = {
        name: re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) for name, text in SECTIONS.items()
    }
    fields = {
        name: [field.encode_name for field in msgspec.structs.fields(policy)]
        for name, policy in built_in_plugins.installed().items()
        if name in SECTIONS
    }

    assert listed == fields


@pytest.mark.parametrize("name", SECTIONS)
def test_its_examples_run(name: str) -> None:
    examples = re.findall(r"^```yaml\n(.*?)^```", SECTIONS[name], re.DOTALL | re.MULTILINE)

    assert examples
    for example in examples:
        loaded = load(example, known=built_in_plugins.describe_installed())
        assert loaded.warnings == ()
        for profile in build_profiles(loaded.configuration, built_in_plugins.installed()).values():
            assert name in profile.plugins


def test_every_field_of_a_provider_is_there_and_no_other() -> None:
    told = DOCS.partition("### Prometheus")[2].partition("### ")[0]
    listed = re.findall(r"^\| `(\w+)` \|", told, re.MULTILINE)
    fields = {
        field.encode_name
        for provider in (UsageProvider, EnergyProvider)
        for field in msgspec.structs.fields(provider)
    }

    assert len(listed) == len(fields)
    assert set(listed) == fields


def test_the_documents_of_measurements_are_read() -> None:
    latencies, node = re.findall(
        r"^```yaml\n(.*?)^```", DOCS.partition("### Latencies")[2], re.DOTALL | re.MULTILINE
    )

    assert latency_readers.parse_latencies(latencies, "docs").latencies["zone-a"]["zone-b"] == 2.1
    assert (
        simulated_feeds.split_measurements([Manifest(yaml.safe_load(node), "docs", 1)])[1][0].usage[
            "cpu"
        ]
        == "3100m"
    )
