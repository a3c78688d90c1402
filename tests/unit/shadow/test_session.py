"""A shadow of a cluster that cannot be read: it says so, and ends."""

import json
from pathlib import Path

from click.testing import CliRunner

from moorage.cli.main import main

NOBODY = "https://127.0.0.1:1"


def test_a_shadow_of_a_server_that_cannot_be_reached_warns_and_ends_in_time(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": NOBODY}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    kubeconfig.write_text(json.dumps(document))

    told = CliRunner().invoke(main, ["shadow", "--kubeconfig", str(kubeconfig), "--for", "200ms"])

    assert told.exit_code == 2
    assert told.stdout == ""
    assert told.stderr.count("warning: The API server cannot be reached") == 1
    assert f"error: the cluster was never read: GET {NOBODY}" in told.stderr
