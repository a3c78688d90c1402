"""When a shadow ends: the cluster cannot be read, or enough pods were judged."""

import asyncio
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from moorage.cli.main import main
from moorage.shadow.judgement import Agreement, Judgement
from moorage.shadow.session import PodLimit

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


def judged(
    pod: str, node: str = "n1", configuration: str = "a", in_flight: bool = False
) -> Judgement:
    return Judgement(
        configuration=configuration,
        pod=pod,
        scheduler="default-scheduler",
        time=10.0,
        agreement=Agreement.SAME,
        node=node,
        in_flight=in_flight,
    )


@pytest.mark.parametrize(
    ("second", "want"),
    [
        pytest.param(judged("db"), True, id="another pod counts"),
        pytest.param(judged("db", in_flight=True), True, id="also by pods in flight"),
        pytest.param(judged("web", in_flight=True), False, id="a second look does not"),
        pytest.param(judged("web", configuration="b"), False, id="another configuration does not"),
        pytest.param(judged("db", node=""), False, id="a pod that waits does not"),
    ],
)
def test_pods_ends_a_shadow_after_so_many(second: Judgement, want: bool) -> None:
    stop = asyncio.Event()
    limit = PodLimit(2, stop)

    limit.judged(judged("web"))
    assert not stop.is_set()
    limit.judged(second)

    assert stop.is_set() is want
