"""The shadow's manifests: it may look at what a scheduler looks at, and can write nothing."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from moorage.cli.main import main
from tests.deploy.tools import DEPLOY, allowed_by, looking_on, of_kind

OVERLAY = "overlays/shadow"
pytestmark = pytest.mark.kube


def test_its_role_lists_and_watches_what_a_scheduler_follows_and_nothing_else() -> None:
    assert allowed_by(OVERLAY) == looking_on()


def test_its_account_has_that_role_alone() -> None:
    [binding] = of_kind(OVERLAY, "ClusterRoleBinding")
    [account] = of_kind(OVERLAY, "ServiceAccount")
    [deployment] = of_kind(OVERLAY, "Deployment")

    name = account["metadata"]["name"]
    assert deployment["spec"]["template"]["spec"]["serviceAccountName"] == name
    assert binding["subjects"][0]["name"] == name
    assert of_kind(OVERLAY, "RoleBinding") == []


def test_its_command_is_one_that_moorage_takes(tmp_path: Path) -> None:
    [deployment] = of_kind(OVERLAY, "Deployment")
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    arguments = [
        each.replace("/etc/moorage", str(DEPLOY / OVERLAY)).replace(
            "/var/lib/moorage", str(tmp_path)
        )
        for each in container["args"]
    ]
    missing = tmp_path / "kubeconfig"
    result = CliRunner().invoke(main, [*arguments, "--kubeconfig", str(missing)])
    assert result.exit_code == 2
    assert str(missing) in result.stderr
