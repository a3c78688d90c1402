"""`moorage run` given what it cannot work with."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from moorage.cli.main import main

CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"schedulerName": "moorage"}],
}
KUBECONFIG = {
    "current-context": "here",
    "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
    "users": [{"name": "me", "user": {"token": "t"}}],
    "contexts": [{"name": "here", "context": {"cluster": "c", "user": "me"}}],
}


@pytest.mark.parametrize(
    ("config", "kubeconfig", "want"),
    [
        pytest.param(
            {"profiles": [{"schedulerName": "x", "surprise": 1}]},
            {},
            "profiles[0].surprise",
            id="a configuration with an unknown field",
        ),
        pytest.param(
            {},
            {"current-context": "elsewhere"},
            "context: there is no 'elsewhere'; there is: here",
            id="a context that is not there",
        ),
        pytest.param(
            {},
            {"users": [{"name": "me", "user": {"client-certificate-data": "QQ=="}}]},
            "user 'me': client-key: missing beside its other half",
            id="half a certificate",
        ),
        pytest.param(
            {},
            {"clusters": [{"name": "c", "cluster": {"server": "nowhere"}}]},
            "cluster 'c': server: not a URL: 'nowhere'",
            id="a server that is none",
        ),
    ],
)
def test_input_at_fault_ends_with_2_and_its_place(
    tmp_path: Path, config: dict[str, Any], kubeconfig: dict[str, Any], want: str
) -> None:
    (tmp_path / "config").write_text(yaml.safe_dump({**CONFIG, **config}))
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump({**KUBECONFIG, **kubeconfig}))
    arguments = ["--config", str(tmp_path / "config"), "--kubeconfig", str(tmp_path / "kubeconfig")]

    result = CliRunner().invoke(main, ["run", *arguments])

    assert result.exit_code == 2
    assert want in result.output
    assert "Traceback" not in result.output


def test_without_a_kubeconfig_it_says_where_it_looked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config").write_text(yaml.safe_dump(CONFIG))
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)

    result = CliRunner().invoke(main, ["run", "--config", str(tmp_path / "config")])

    assert result.exit_code == 2
    looked = tmp_path / ".kube" / "config"
    assert f"{looked}: no such file: name one with --kubeconfig FILE" in result.output
