"""Schedulers lead with the rights of the base, on a real API server that asks for them."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from moorage.scaffold.plugin_project import Names, make
from tests.data import DATA
from tests.integration.control_plane import ControlPlane
from tests.integration.harness import Replica

pytestmark = pytest.mark.kube
LEASES = "/apis/coordination.k8s.io/v1/namespaces/moorage-system/leases"
SEEDS = {
    "000-0905": "cost-optimizer",
    "000-0930": "latency-sensitive",
    "004-0151": "lowcpu-scheduler",
}
"""Three configurations of the documents that Moorage grew from; none of them names a Lease."""


@contextlib.contextmanager
def schedulers(
    folder: Path, account: Path, configurations: dict[str, str], *flags: str
) -> Iterator[dict[str, Replica]]:
    """`moorage run` with each configuration, as the service account of the base."""
    made: dict[str, Replica] = {}
    try:
        for name, text in configurations.items():
            config, *beside = yaml.safe_load_all(text)
            made[name] = Replica(folder, name, config, account, *flags, beside=beside)
        yield made
    finally:
        for each in made.values():
            each.process.kill()
            each.process.wait()


def holders(cluster: ControlPlane) -> dict[str, str]:
    listed = cluster.request("GET", LEASES)["items"]
    return {item["metadata"]["name"]: item["spec"]["holderIdentity"] for item in listed}


@pytest.fixture(autouse=True)
def no_leases(cluster: ControlPlane) -> Iterator[None]:
    yield
    cluster.request("DELETE", LEASES)


def test_the_configuration_of_a_new_plugin_leads(
    cluster: ControlPlane, account: Path, tmp_path: Path
) -> None:
    files = make(Names.of("QuietNodes"), ["filter"])
    plugin = tmp_path / "quiet_nodes.py"
    plugin.write_text(files["quiet_nodes.py"])
    told = {"new": files["scheduler.yaml"]}
    with schedulers(tmp_path, account, told, f"--plugin={plugin}") as running:
        running["new"].says("became leader")

        (profile,) = yaml.safe_load(files["scheduler.yaml"].partition("\n---\n")[0])["profiles"]
        assert list(holders(cluster)) == [profile["schedulerName"]]


def test_three_configurations_that_name_no_lease_lead_side_by_side(
    cluster: ControlPlane, account: Path, tmp_path: Path
) -> None:
    told = {name: (DATA / "seeds" / f"{file}.yaml").read_text() for file, name in SEEDS.items()}
    with schedulers(tmp_path, account, told) as running:
        for each in running.values():
            each.says("became leader")

        found = holders(cluster)
        assert set(found) == set(SEEDS.values())
        assert [found[name] in running[name].said for name in found] == [True] * 3


def test_a_lease_that_config_check_warns_of_is_refused(account: Path, tmp_path: Path) -> None:
    told = {
        "astray": """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {resourceNamespace: kube-system}
"""
    }
    with schedulers(tmp_path, account, told) as running:
        running["astray"].says("the lease could not be acquired or renewed: leases.coordination")

        assert "became leader" not in running["astray"].said
