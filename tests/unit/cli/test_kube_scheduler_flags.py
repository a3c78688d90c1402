"""kube-scheduler's flags: every one is accepted, and means what it means there."""

import subprocess
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from click.testing import CliRunner, Result

from moorage import KUBE_VERSION
from moorage.app.assembly import tap_for
from moorage.app.inputs import MetricFlags, RunOptions
from moorage.app.kube_flags import ConfigFlags
from moorage.app.serving_flags import ServingFlags
from moorage.batching.quick_decisions import QuickDecisions
from moorage.cli.kube_scheduler_flags import BOOLEANS, WITHOUT_EFFECT, from_go
from moorage.cli.main import main
from moorage.cli.run_cmd import run_command
from moorage.cli.run_options import options_of
from moorage.config.loader import default_configuration
from tests.integration.control_plane import assets

V1_37 = frozenset(
    [
        "config",
        "master",
        "write-config-to",
        "bind-address",
        "cert-dir",
        "disable-http2-serving",
        "http2-max-streams-per-connection",
        "permit-address-sharing",
        "permit-port-sharing",
        "secure-port",
        "tls-cert-file",
        "tls-cipher-suites",
        "tls-curve-preferences",
        "tls-min-version",
        "tls-private-key-file",
        "tls-sni-cert-key",
        "authentication-kubeconfig",
        "authentication-skip-lookup",
        "authentication-token-webhook-cache-ttl",
        "authentication-tolerate-lookup-failure",
        "client-ca-file",
        "requestheader-allowed-names",
        "requestheader-client-ca-file",
        "requestheader-extra-headers-prefix",
        "requestheader-group-headers",
        "requestheader-uid-headers",
        "requestheader-username-headers",
        "authorization-always-allow-paths",
        "authorization-kubeconfig",
        "authorization-webhook-cache-authorized-ttl",
        "authorization-webhook-cache-unauthorized-ttl",
        "contention-profiling",
        "kube-api-burst",
        "kube-api-content-type",
        "kube-api-qps",
        "kubeconfig",
        "pod-max-in-unschedulable-pods-duration",
        "profiling",
        "leader-elect",
        "leader-elect-lease-duration",
        "leader-elect-renew-deadline",
        "leader-elect-resource-lock",
        "leader-elect-resource-name",
        "leader-elect-resource-namespace",
        "leader-elect-retry-period",
        "emulated-version",
        "feature-gates",
        "min-compatibility-version",
        "allow-metric-labels",
        "allow-metric-labels-manifest",
        "disabled-metrics",
        "show-hidden-metrics-for-version",
        "log-flush-frequency",
        "log-json-info-buffer-size",
        "log-json-split-stream",
        "log-text-info-buffer-size",
        "log-text-split-stream",
        "logging-format",
        "v",
        "vmodule",
        "help",
        "version",
    ]
)
SEEDS = frozenset({"scheduler-name", "port", "logtostderr", "percentage-of-nodes-to-score"})
OWN_CONFIG = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def accepted() -> set[str]:
    """Every long option of `moorage run`."""
    context = click.Context(run_command)
    return {
        opt[2:]
        for param in run_command.get_params(context)
        for opt in param.opts
        if opt.startswith("--")
    }


def written(tmp_path: Path, *flags: str, config: str = "") -> tuple[dict[str, Any], Result]:
    """The configuration that comes of flags."""
    out = tmp_path / "out.yaml"
    named = []
    if config:
        file = tmp_path / "config.yaml"
        file.write_text(config)
        named = [f"--config={file}"]
    done = CliRunner().invoke(main, ["run", f"--write-config-to={out}", *named, *flags])
    return (yaml.safe_load(out.read_text()) if out.exists() else {}), done


def options(*flags: str) -> RunOptions:
    context = run_command.make_context("run", list(flags))
    return options_of(context.params)


def test_every_flag_of_kube_scheduler_is_accepted() -> None:
    assert sorted(V1_37 - accepted()) == []


def test_flags_of_older_versions_that_people_still_type_are_accepted() -> None:
    assert sorted(SEEDS - accepted()) == []


@pytest.mark.kube
def test_the_list_is_that_of_the_real_kube_scheduler() -> None:
    programs = assets()
    assert programs is not None
    said = subprocess.run(
        [programs / "kube-scheduler", "--help"], capture_output=True, text=True, check=True
    ).stdout
    found = {
        part[2:].split("=")[0]
        for line in said.splitlines()
        for part in line.split()[:2]
        if line.startswith("  ") and part.startswith("--") and not line.startswith(" " * 20)
    }

    assert found - {"emulated-version=wardle"} == V1_37


def test_without_a_configuration_it_is_kube_schedulers_default(tmp_path: Path) -> None:
    found, _ = written(tmp_path)

    assert [profile["schedulerName"] for profile in found["profiles"]] == ["default-scheduler"]
    election = found["leaderElection"]
    assert (election["resourceNamespace"], election["resourceName"]) == (
        "kube-system",
        "kube-scheduler",
    )


@pytest.mark.parametrize(
    ("flag", "path", "want"),
    [
        ("--leader-elect=false", "leaderElection.leaderElect", False),
        ("--leader-elect-lease-duration=40s", "leaderElection.leaseDuration", "40s"),
        ("--leader-elect-renew-deadline=12s", "leaderElection.renewDeadline", "12s"),
        ("--leader-elect-retry-period=1s", "leaderElection.retryPeriod", "1s"),
        ("--leader-elect-resource-name=other", "leaderElection.resourceName", "other"),
        ("--leader-elect-resource-namespace=ns", "leaderElection.resourceNamespace", "ns"),
        ("--leader_elect_resource_name=other", "leaderElection.resourceName", "other"),
    ],
)
@pytest.mark.parametrize("config", ["", OWN_CONFIG], ids=["alone", "beside a configuration"])
def test_leader_election_flags_always_count(
    tmp_path: Path, flag: str, path: str, want: Any, config: str
) -> None:
    found: Any = written(tmp_path, flag, config=config)[0]
    for part in path.split("."):
        found = found[part]

    assert found == want


@pytest.mark.parametrize(
    ("flag", "path", "alone", "beside"),
    [
        ("--kube-api-qps=100", ("clientConnection", "qps"), 100, 50),
        ("--kube-api-burst=7", ("clientConnection", "burst"), 7, 100),
        ("--profiling=false", ("enableProfiling",), False, True),
        ("--contention-profiling=false", ("enableContentionProfiling",), False, True),
        ("--percentage-of-nodes-to-score=50", ("percentageOfNodesToScore",), 50, 100),
        ("--scheduler-name=low", ("profiles", 0, "schedulerName"), "low", "default-scheduler"),
        ("--scheduler-name=low", ("leaderElection", "resourceName"), "low", "default-scheduler"),
    ],
)
def test_deprecated_flags_count_without_a_configuration_file(
    tmp_path: Path, flag: str, path: tuple[Any, ...], alone: Any, beside: Any
) -> None:
    for config, want in (("", alone), (OWN_CONFIG, beside)):
        found: Any = written(tmp_path, flag, config=config)[0]
        for part in path:
            found = found[part]
        assert found == want


def test_what_deprecated_flags_are_replaced_by_is_said() -> None:
    given = options("--kube-api-qps=100", "--scheduler-name=low").flags
    configured = given.override(default_configuration(), file=True)

    assert given.warnings(configured, file=True) == [
        "--kube-api-qps is ignored, because a configuration is given: set clientConnection.qps in"
        " --config",
        "--scheduler-name is ignored, because a configuration is given: set"
        " profiles[].schedulerName in --config",
        "--scheduler-name low: no profile has it, but: default-scheduler",
    ]
    assert given.warnings(configured, file=False)[0] == (
        "--kube-api-qps is deprecated: set clientConnection.qps in --config"
    )


def test_what_flags_say_is_checked_with_the_rest(tmp_path: Path) -> None:
    _, done = written(tmp_path, "--leader-elect-renew-deadline=20s")

    assert done.exit_code == 2
    assert "the command line: leaderElection.leaseDuration: Invalid value" in done.output


@pytest.mark.parametrize(
    ("given", "want"),
    [
        ("--leader-elect", "--leader-elect=true"),
        ("--leader_elect=false", "--leader-elect=false"),
        ("--config=a_b.yaml", "--config=a_b.yaml"),
        ("-v=4", "--v=4"),
        ("--", "--"),
        ("file_name", "file_name"),
    ],
)
def test_flags_may_be_written_as_in_go(given: str, want: str) -> None:
    assert from_go(given) == want


@pytest.mark.parametrize("name", sorted(WITHOUT_EFFECT.keys() - {"log-flush-frequency"}))
def test_a_flag_that_does_nothing_says_so(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    options(f"--{name}=false" if name in BOOLEANS else f"--{name}=1")

    assert f"--{name} has no effect: " in capsys.readouterr().err


@pytest.mark.parametrize(
    "flag",
    [
        "--logtostderr=true",
        "--port=0",
        "--log-flush-frequency=5s",
        "--permit-address-sharing",
    ],
)
def test_a_flag_that_asks_for_what_is_done_anyway_says_nothing(
    flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options(flag)

    assert capsys.readouterr().err == ""


def test_no_flag_is_swallowed() -> None:
    """Each option ends up somewhere: in the options, or among those without effect."""
    structs = (RunOptions, ConfigFlags, ServingFlags, MetricFlags)
    known = {field for struct in structs for field in struct.__struct_fields__}
    known |= {name.replace("-", "_") for name in WITHOUT_EFFECT}
    context = click.Context(run_command)
    given = {p.name for p in run_command.get_params(context) if p.expose_value}

    assert sorted(given - known - {"help"}) == []


def test_the_version_is_said() -> None:
    done = CliRunner().invoke(main, ["run", "--version"])

    assert (done.exit_code, KUBE_VERSION in done.output) == (0, True)


def test_lists_and_durations_are_read() -> None:
    given = options(
        "--authorization-always-allow-paths=/healthz,/metrics",
        "--authentication-token-webhook-cache-ttl=1m",
        "--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        "--disabled-metrics=scheduler_goroutines",
    )

    assert given.serving.authorization_always_allow_paths == ("/healthz", "/metrics")
    assert given.serving.kept_for.token == 60.0
    assert given.serving.tls.suites == ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",)
    assert given.metrics.filter().disabled == {"scheduler_goroutines"}


def test_every_flag_is_in_the_manual_and_the_image_has_the_command() -> None:
    root = Path(__file__).parents[3]
    manual = (root / "docs" / "operations.md").read_text()

    assert sorted(flag for flag in V1_37 | SEEDS if f"`--{flag}`" not in manual) == []
    assert 'exec moorage run "$@"' in (root / "deploy" / "Dockerfile").read_text()


def test_gates_of_devices_become_arguments_of_their_plugin(tmp_path: Path) -> None:
    gates = "--feature-gates=DRAListTypeAttributes=true,GenericWorkload=false"

    made, done = written(tmp_path, gates)

    args = {each["name"]: each["args"] for each in made["profiles"][0]["pluginConfig"]}
    assert args["DynamicResources"]["featureGates"] == {"DRAListTypeAttributes": True}
    assert "--feature-gates=GenericWorkload has no effect" in done.output


@pytest.mark.parametrize(
    ("gates", "is_quick"),
    [
        pytest.param("OpportunisticBatching=false", False, id="shut"),
        pytest.param("OpportunisticBatching=true", True, id="open"),
        pytest.param("DRAListTypeAttributes=true", True, id="not named"),
    ],
)
def test_the_gate_of_batching_is_open_unless_it_is_shut(
    gates: str, is_quick: bool, tmp_path: Path
) -> None:
    _, done = written(tmp_path, f"--feature-gates={gates}")
    given = {name: value == "true" for name, value in [gates.split("=")]}
    tap = tap_for(None, lambda: 0.0, ConfigFlags(feature_gates=given).batching)

    assert "has no effect" not in done.output
    assert isinstance(tap, QuickDecisions) is is_quick


def test_gates_add_to_those_of_a_configuration(tmp_path: Path) -> None:
    given = (
        f"{OWN_CONFIG}profiles: [{{schedulerName: s, pluginConfig: [{{name: DynamicResources, "
        "args: {featureGates: {DRAWorkloadResourceClaims: true}}}]}]\n"
    )

    made, _ = written(tmp_path, "--feature-gates=DRAListTypeAttributes=true", config=given)

    args = {each["name"]: each["args"] for each in made["profiles"][0]["pluginConfig"]}
    assert args["DynamicResources"]["featureGates"] == {
        "DRAWorkloadResourceClaims": True,
        "DRAListTypeAttributes": True,
    }


def test_a_gate_that_is_neither_open_nor_closed_is_refused(tmp_path: Path) -> None:
    _, done = written(tmp_path, "--feature-gates=DRAListTypeAttributes=perhaps")

    assert done.exit_code != 0
    assert "not true or false" in done.output


def test_a_configuration_with_an_unknown_gate_is_refused(tmp_path: Path) -> None:
    given = (
        f"{OWN_CONFIG}profiles: [{{schedulerName: s, pluginConfig: [{{name: DynamicResources, "
        "args: {featureGates: {Nothing: true}}}]}]\n"
    )

    _, done = written(tmp_path, config=given)

    assert done.exit_code != 0
    assert "DRADeviceCompatibilityGroups" in done.output
