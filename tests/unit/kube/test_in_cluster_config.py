from pathlib import Path

import pytest

from moorage.kube import in_cluster_config
from moorage.kube.kubeconfig import KubeconfigError

INSIDE = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


def test_a_pod_uses_its_service_account(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t")
    (tmp_path / "ca.crt").write_text("c")

    selected = in_cluster_config.load_in_cluster_config(INSIDE, tmp_path)

    assert selected.cluster.server == "https://10.0.0.1:443"
    assert selected.cluster.certificate_authority == str(tmp_path / "ca.crt")
    assert selected.user.token_file == str(tmp_path / "token")
    assert selected.cluster.disable_compression


def test_an_ipv6_address_is_put_in_brackets(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t")
    environment = {**INSIDE, "KUBERNETES_SERVICE_HOST": "fd00::1"}

    assert (
        in_cluster_config.load_in_cluster_config(environment, tmp_path).cluster.server
        == "https://[fd00::1]:443"
    )


def test_outside_a_pod_it_says_so(tmp_path: Path) -> None:
    assert not in_cluster_config.runs_in_pod({})
    with pytest.raises(KubeconfigError, match="does not run in a pod"):
        in_cluster_config.load_in_cluster_config({}, tmp_path)


def test_a_pod_without_a_mounted_token_is_told_why(tmp_path: Path) -> None:
    with pytest.raises(KubeconfigError, match="automountServiceAccountToken"):
        in_cluster_config.load_in_cluster_config(INSIDE, tmp_path)
