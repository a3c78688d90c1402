"""Prices by provider, region, instance type and purchase option; who pays what for which node."""

import asyncio
import gzip
import math
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from moorage.app import built_in_plugins
from moorage.cache.node_view import Nodes
from moorage.config.loader import load
from moorage.feeds.price_readers import FilePrices
from moorage.feeds.readings import FeedError
from moorage.observe.namespace_costs import NamespaceCosts
from moorage.policies.business import price_table
from moorage.policies.business.cost_optimization import CostOptimizationPlugin
from moorage.policies.business.price_table import Instance, PriceTableError, parse_prices
from moorage.policies.telemetry.metric_sources import PriceFile
from moorage.simulate import manifest_files, simulation
from moorage.testing import Cluster, NodeBuilder, node, pod
from tests.data import DATA
from tests.unit.policies.asking import scores, world

EXAMPLE = Path(__file__).parents[3] / "examples" / "multi-cloud"
AWS_LIST = DATA / "prices" / "aws_ondemand_us-east-1.csv.gz"
TYPE = "node.kubernetes.io/instance-type"
TABLE = parse_prices(
    "provider,region,instance_type,purchase,usd_per_hour\n"
    "aws,us-east-1,m5.large,on-demand,0.096\n"
    "aws,us-east-1,m5.large,spot,0.035\n"
    "aws,,m5.large,on-demand,0.12\n"
    ",,m5.large,,0.2\n"
)


def machine(name: str, provider_id: str) -> NodeBuilder:
    made = node(name)
    made.raw.setdefault("spec", {})["providerID"] = provider_id
    return made


@pytest.mark.parametrize(
    ("instance", "want"),
    [
        pytest.param(("aws", "us-east-1", "m5.large", "on-demand"), 0.096, id="the line itself"),
        pytest.param(("aws", "us-east-1", "m5.large", "spot"), 0.035, id="by how it was bought"),
        pytest.param(("aws", "eu-west-1", "m5.large", "on-demand"), 0.12, id="any region"),
        pytest.param(("gcp", "x", "m5.large", "reserved"), 0.2, id="anything at all"),
        pytest.param(("aws", "us-east-1", "m9.huge", "on-demand"), math.nan, id="not listed"),
    ],
)
def test_the_most_particular_line_counts(instance: tuple[str, str, str, str], want: float) -> None:
    assert TABLE.find(Instance(*instance)) == pytest.approx(want, nan_ok=True)


@pytest.mark.parametrize(
    ("made", "want"),
    [
        (machine("a", "aws:///us-east-1a/i-0abc"), ("aws", "us-east-1")),
        (machine("a", "gce://p/europe-west1-b/n"), ("gcp", "europe-west1")),
        (
            machine("a", "azure:///subscriptions/s").labelled(
                {"topology.kubernetes.io/region": "eastus"}
            ),
            ("azure", "eastus"),
        ),
        (node("a"), ("", "")),
    ],
)
def test_where_a_node_is_from(made: NodeBuilder, want: tuple[str, str]) -> None:
    built = made.build()

    assert (price_table.provider_of(built), price_table.region_of(built)) == want


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("type,price\n", "the header needs instance_type"),
        ("instance_type,usd_per_hour\nm5.large,cheap\n", "t, line 2: 'cheap' is not a price"),
        ("instance_type,usd_per_hour\n,1.0\n", "t, line 2: no instance_type"),
    ],
)
def test_a_table_that_cannot_be_read_names_the_line(text: str, fault: str) -> None:
    with pytest.raises(PriceTableError, match=fault):
        parse_prices(text, "t")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FeedError, match="No such file"):
        asyncio.run(FilePrices(PriceFile(str(tmp_path / "none.csv"))).read())


def test_a_file_in_another_encoding_is_named(tmp_path: Path) -> None:
    file = tmp_path / "prices.csv"
    file.write_bytes("region,instance_type,usd_per_hour\nmünchen,m5.large,1\n".encode("latin-1"))

    with pytest.raises(FeedError, match=r"prices\.csv: not UTF-8 text: .* at byte 35$"):
        asyncio.run(FilePrices(PriceFile(str(file))).read())


def test_a_cloud_providers_own_list_is_read_as_it_is() -> None:
    table = parse_prices(gzip.decompress(AWS_LIST.read_bytes()).decode())

    assert len(table) > 500
    assert table.find(Instance("aws", "us-east-1", "a1.large", "on-demand")) == 0.051


def test_prices_of_the_table_decide() -> None:
    """Two nodes that are the same but for where they are."""
    near = machine("near", "aws:///us-east-1a/i-1").labelled({TYPE: "m5.large"})
    far = machine("far", "aws:///eu-west-1a/i-2").labelled({TYPE: "m5.large"})
    cluster = world(CostOptimizationPlugin(), near, far)
    web = pod("web").requesting(cpu="1")

    assert scores(cluster, web) == {"far": 100, "near": 100}
    cluster.profile.shared[price_table.PRICES] = TABLE
    assert scores(cluster, web) == {"far": 80, "near": 100}


def test_another_table_takes_effect_at_once() -> None:
    made = node("a").labelled({TYPE: "x"}), node("b").labelled({TYPE: "y"})
    cluster = Cluster(*made, plugins=[CostOptimizationPlugin()], alone=True)
    web = pod("web").requesting(cpu="1")
    for cheap in ("a", "b", "a"):
        prices = {"a": 2.0, "b": 2.0, cheap: 1.0}
        text = f"instance_type,usd_per_hour\nx,{prices['a']}\ny,{prices['b']}\n"
        cluster.profile.shared[price_table.PRICES] = parse_prices(text)
        found = cluster.attempt(web)
        assert getattr(found, "node", None) == cheap


def test_what_namespaces_cost_is_a_metric() -> None:
    """Half of a node of 0.2 per hour, and a quarter."""
    made = node("a").offering(cpu="4", memory="16Gi").labelled({TYPE: "m5.large"})
    cluster = Cluster(made, plugins=[CostOptimizationPlugin()])
    cluster.profile.shared[price_table.PRICES] = TABLE
    costs = NamespaceCosts(lambda: {"moorage": cluster.profile}, cluster.cache)
    cluster.add(pod("a", "shop").requesting(cpu="2").on("a"))
    assert costs.by_namespace() == {"shop": pytest.approx(0.1)}
    cluster.add(pod("b", "batch").requesting(cpu="1").on("a"))
    registry = CollectorRegistry()
    registry.register(costs)

    text = generate_latest(registry).decode()

    assert 'moorage_namespace_cost_per_hour{namespace="batch"} 0.05' in text
    cluster.cache.remove_pod(pod("a", "shop").build().uid)
    assert costs.by_namespace() == {"batch": pytest.approx(0.05)}


def placed(*files: str) -> dict[str, str]:
    known = built_in_plugins.installed()
    text = (EXAMPLE / "scheduler.yaml").read_text(encoding="utf-8")
    loaded = load(text, known=built_in_plugins.describe_plugins(known))
    manifests = manifest_files.read_manifests([EXAMPLE / file for file in files])
    outcome = simulation.simulate(manifests, loaded.configuration, known)
    return {each.name: each.spec.node_name for each in simulation.pods_of(outcome)}


def test_the_multi_cloud_example_says_what_it_does() -> None:
    assert placed("cluster.yaml", "prices.yaml", "workloads.yaml") == {
        "records": "aws-frankfurt",
        "render": "gcp-spot",
        "web": "azure-reserved",
        "web-2": "azure-reserved",
    }


def test_each_plugin_goes_by_its_own_labels_of_spot_instances() -> None:
    """Two profiles of one scheduler look at the same nodes."""
    made = machine("a", "aws:///us-east-1a/i-0").labelled({TYPE: "m5.large", "pool": "spot"})
    cluster = Cluster(made)
    nodes = Nodes.all(cluster.cache.table)
    plain, own = CostOptimizationPlugin(), CostOptimizationPlugin(spot_labels=("pool=spot",))

    found = [float(plugin.prices.prices(nodes, TABLE)[0]) for plugin in (plain, own)]

    assert found == [0.096, 0.035]


def four_cores(name: str, cpu: str = "4") -> NodeBuilder:
    return node(name).offering(cpu=cpu, memory="16Gi").labelled({TYPE: "m5.large"})


def test_what_namespaces_cost_follows_their_nodes() -> None:
    """A node that grows, and one that is gone, whose row another node has by now."""
    cluster = Cluster(four_cores("a"), plugins=[CostOptimizationPlugin()])
    cluster.profile.shared[price_table.PRICES] = TABLE
    costs = NamespaceCosts(lambda: {"moorage": cluster.profile}, cluster.cache)
    resident = pod("a", "shop").requesting(cpu="2").on("a")
    cluster.add(resident)
    assert costs.by_namespace() == {"shop": pytest.approx(0.1)}

    cluster.add(four_cores("a", cpu="8"))
    assert costs.by_namespace() == {"shop": pytest.approx(0.05)}

    cluster.cache.remove_pod(resident.build().uid)
    cluster.cache.remove_node(four_cores("a").build())
    cluster.add(four_cores("b"))
    assert costs.by_namespace() == {}
