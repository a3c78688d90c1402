"""kube-scheduler's own flags, for manifests and habits that use them.

Every flag of kube-scheduler v1.37 is accepted, and those of older versions that people still type.
Flags that cannot have a meaning here are in `WITHOUT_EFFECT`, each with the reason.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import click

from moorage import KUBE_VERSION, __version__
from moorage.app.kube_flags import BATCHING
from moorage.cli.standard_streams import echo
from moorage.config.durations import Duration
from moorage.devices.feature_gates import GATES as OPENED_BY

WITHOUT_EFFECT: Final[Mapping[str, str]] = {
    "disable-http2-serving": "HTTP/1.1 is all that is served",
    "http2-max-streams-per-connection": "HTTP/1.1 is all that is served",
    "tls-curve-preferences": "OpenSSL's own choice of curves is used",
    "emulated-version": "kube-scheduler v1.37 is what is emulated",
    "min-compatibility-version": "kube-scheduler v1.37 is what is emulated",
    "show-hidden-metrics-for-version": "no metric is hidden",
    "log-flush-frequency": "the log is written every 50 ms",
    "log-json-info-buffer-size": "the log is written every 50 ms",
    "log-text-info-buffer-size": "the log is written every 50 ms",
    "log-json-split-stream": "the log is one stream, standard error",
    "log-text-split-stream": "the log is one stream, standard error",
    "permit-address-sharing": "SO_REUSEADDR is always used, as Go does",
    "vmodule": "-v counts for all of it",
    "logtostderr": "the log goes to standard error",
    "alsologtostderr": "the log goes to standard error",
    "stderrthreshold": "the log goes to standard error",
    "log-dir": "the log goes to standard error",
    "log-file": "the log goes to standard error",
    "port": "there is no insecure port: --http-port serves this machine",
}
"""Flags that are accepted without effect, each with what happens instead."""

NO_GATE: Final = "docs/parity.md says what is done"

SILENT: Final = frozenset(
    {"logtostderr", "log-flush-frequency", "disable-http2-serving", "permit-address-sharing"}
)
"""Those among them that ask for what happens anyway."""

BOOLEANS: Final = frozenset(
    {
        "leader-elect",
        "profiling",
        "contention-profiling",
        "authentication-skip-lookup",
        "authentication-tolerate-lookup-failure",
        "permit-address-sharing",
        "permit-port-sharing",
        "disable-http2-serving",
        "log-json-split-stream",
        "log-text-split-stream",
        "logtostderr",
        "alsologtostderr",
        "version",
    }
)


class DurationType(click.ParamType[Any]):
    """A duration in Go's format."""

    name = "duration"

    def convert(self, value: Any, param: Any, ctx: Any) -> Duration:
        if isinstance(value, Duration):
            return value
        try:
            return Duration.parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class ListType(click.ParamType[Any]):
    """Texts separated by commas."""

    name = "strings"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[str, ...]:
        return value if isinstance(value, tuple) else tuple(filter(None, value.split(",")))


class GatesType(click.ParamType[Any]):
    """Feature gates: `Name=true`, separated by commas."""

    name = "gates"

    def convert(self, value: Any, param: Any, ctx: Any) -> dict[str, bool]:
        if isinstance(value, dict):
            return value
        found = {}
        for pair in filter(None, value.split(",")):
            gate, equals, setting = pair.partition("=")
            if not equals:
                self.fail(f"missing bool value for {gate}", param, ctx)
            if setting.strip() not in BOOLS:
                self.fail(f"invalid value of {gate}={setting}: not true or false", param, ctx)
            found[gate.strip()] = BOOLS[setting.strip()]
        return found


BOOLS: Final[Mapping[str, bool]] = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}
"""Go's spellings of a bool."""

DURATION: Final = DurationType()
GATES: Final = GatesType()
LIST: Final = ListType()


class FlagCommand(click.Command):
    """A command whose arguments may be written like Go's flags."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(map(from_go, args)))


def from_go(argument: str) -> str:
    """`--leader_elect`, `-v=2` and a bare `--leader-elect`, in click's form."""
    if argument.startswith("-v="):
        return f"--v={argument.removeprefix('-v=')}"
    if not argument.startswith("--") or argument == "--":
        return argument
    name, equals, value = argument[2:].partition("=")
    name = name.replace("_", "-")
    if name in BOOLEANS and not equals:
        return f"--{name}=true"
    return f"--{name}{equals}{value}"


def without_effect(given: Mapping[str, Any]) -> list[str]:
    """Warnings about the given flags that have no effect."""
    found = []
    for name, instead in WITHOUT_EFFECT.items():
        value = given.get(name.replace("-", "_"))
        meant = value != "false" if name in SILENT else (name, value) == ("port", "0")
        if value is not None and not meant:
            found.append(f"--{name} has no effect: {instead}")
    gates = given.get("feature_gates") or {}
    unknown = (gate for gate in gates if gate not in OPENED_BY and gate != BATCHING)
    return found + [f"--feature-gates={gate} has no effect: {NO_GATE}" for gate in unknown]


def _flag(name: str, kind: Any = str, help: str = "", **more: Any) -> Any:
    metavar = {bool: "BOOL", DURATION: "DURATION", LIST: "LIST"}.get(kind)
    given = {"type": kind, "default": None, "help": help, "hidden": not help, "metavar": metavar}
    return click.option(f"--{name}", **{**given, **more})


def _flags(names: Iterable[str], kind: Any = str) -> list[Any]:
    return [_flag(name, kind) for name in names]


def _print_version(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is not None:
        echo(f"Moorage {__version__} (kube-scheduler {KUBE_VERSION})")
        ctx.exit()


FLAGS: Final = (
    _flag("master", help="The URL of the API server, in place of the kubeconfig's.", metavar="URL"),
    _flag(
        "write-config-to",
        help="Write the configuration with all its defaults to this file, and end.",
        metavar="FILE",
    ),
    _flag("leader-elect", bool, "Whether to elect a leader among replicas. [default: true]"),
    _flag(
        "leader-elect-lease-duration",
        DURATION,
        "How long others wait for the leader to renew before they take over. [default: 15s]",
    ),
    _flag(
        "leader-elect-renew-deadline",
        DURATION,
        "How long a leader tries to renew before it gives up. [default: 10s]",
    ),
    _flag(
        "leader-elect-retry-period",
        DURATION,
        "How long to wait between tries to acquire or renew. [default: 2s]",
    ),
    _flag("leader-elect-resource-lock", click.Choice(["leases"])),
    _flag("leader-elect-resource-name", help="The Lease's name.", metavar="NAME"),
    _flag("leader-elect-resource-namespace", help="The Lease's namespace.", metavar="NAME"),
    _flag(
        "feature-gates",
        GATES,
        "Features of devices that are off by default; OpportunisticBatching, on by default; other "
        "gates have no effect.",
        metavar="NAME=BOOL,...",
    ),
    _flag(
        "scheduler-name",
        help="The schedulerName of the only profile, without --config.",
        metavar="NAME",
    ),
    _flag("kube-api-qps", float),
    _flag("kube-api-burst", int),
    _flag("percentage-of-nodes-to-score", click.IntRange(0, 100)),
    *_flags(("profiling", "contention-profiling"), bool),
    _flag("kube-api-content-type"),
    _flag("pod-max-in-unschedulable-pods-duration", DURATION),
    _flag("disabled-metrics", LIST, "Metrics that /metrics leaves out, by their full names."),
    _flag(
        "allow-metric-labels",
        help="The values of a metric's label to show; others are shown as `unexpected`. May be "
        "repeated.",
        metavar="METRIC,LABEL='VALUE,...'",
        multiple=True,
    ),
    _flag(
        "allow-metric-labels-manifest",
        help="A YAML file of such values, by METRIC,LABEL.",
        metavar="FILE",
    ),
    *_flags(WITHOUT_EFFECT),
    click.option(
        "--version",
        type=str,
        callback=_print_version,
        expose_value=False,
        is_eager=True,
        metavar="[=raw]",
        help="Print the version and exit.",
    ),
)

SERVING_FLAGS: Final = (
    _flag(
        "authentication-kubeconfig",
        help="The kubeconfig to send TokenReviews with. [default: the scheduler's own]",
        metavar="FILE",
    ),
    _flag(
        "authorization-kubeconfig",
        help="The kubeconfig to send SubjectAccessReviews with. [default: the scheduler's own]",
        metavar="FILE",
    ),
    _flag(
        "authorization-always-allow-paths",
        LIST,
        "Paths that need no authorization. [default: /healthz,/readyz,/livez]",
    ),
    _flag(
        "client-ca-file",
        help="Callers may authenticate with a certificate that one of these CAs signed.",
        metavar="FILE",
    ),
    _flag(
        "tls-min-version",
        help="The oldest version of TLS to accept: VersionTLS12 or VersionTLS13.",
        metavar="NAME",
    ),
    _flag("tls-cipher-suites", LIST, "The cipher suites of TLS 1.2, by Go's names."),
    _flag(
        "tls-sni-cert-key",
        help="A certificate and key for these host names (SNI); may be repeated.",
        metavar="CERT,KEY[:NAME,...]",
        multiple=True,
    ),
    _flag("requestheader-client-ca-file"),
    *_flags(("authentication-skip-lookup", "authentication-tolerate-lookup-failure"), bool),
    _flag("permit-port-sharing", bool, "Use SO_REUSEPORT: others may listen on the port too."),
    *_flags(
        (
            "authentication-token-webhook-cache-ttl",
            "authorization-webhook-cache-authorized-ttl",
            "authorization-webhook-cache-unauthorized-ttl",
        ),
        DURATION,
    ),
    *_flags(
        (
            "requestheader-allowed-names",
            "requestheader-extra-headers-prefix",
            "requestheader-group-headers",
            "requestheader-uid-headers",
            "requestheader-username-headers",
        ),
        LIST,
    ),
)
