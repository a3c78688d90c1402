"""`moorage run`: the scheduler against a real API server."""

import asyncio
import logging
import sys
from functools import partial
from typing import Any

import click

from moorage.app import inputs, services
from moorage.app.config_bundle import ConfigBundle
from moorage.app.config_sources import ConfigSources
from moorage.app.configuration_history import ConfigurationHistory
from moorage.app.inputs import RunOptions
from moorage.app.log_control import LogControl
from moorage.app.run_process import FAILED, STOPPED, RunProcess
from moorage.app.serving_flags import callers_for
from moorage.cli.common import exit_on_bad_input
from moorage.cli.kube_scheduler_flags import FlagCommand
from moorage.cli.record_options import Recordings, RecordTo, recording_to
from moorage.cli.run_options import options_of, run_options
from moorage.clock import SystemClock
from moorage.config import yaml_dump
from moorage.config.field_errors import ConfigError, InputError
from moorage.config.lease_config import DEFAULT_SCHEDULER, KUBE_LEASE, KUBE_NAMESPACE
from moorage.config.types import SchedulerConfiguration
from moorage.framework.plugin_registry import Registry, RegistryError
from moorage.kube.kubeconfig import KubeconfigError
from moorage.observe import logs
from moorage.observe.attempt_tracer import AttemptTracer
from moorage.observe.decision_records import DecisionRecords
from moorage.observe.logs import Logs, say
from moorage.observe.otel_spans import OtelMissing, otlp_spans
from moorage.observe.prometheus_metrics import Metrics
from moorage.serve.secure_serving import CertificateError, Certificates, Listener, ListenerError


@click.command("run", cls=FlagCommand)
@run_options
@exit_on_bad_input
def run_command(**given: Any) -> None:
    """Schedule the pods of a cluster.

    Schedules the pods whose spec.schedulerName is that of a profile in the configuration. All other
    pods are counted on their nodes and left alone, so this runs beside an unchanged kube-scheduler.
    Several replicas agree on a leader by a Lease; the others keep their caches warm and take over.

    \b
    A configuration to start from:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: KubeSchedulerConfiguration
      profiles:
      - schedulerName: moorage
      clientConnection:
        qps: 1000
        burst: 2000

    \b
    Examples:
      moorage config check scheduler.yaml
      moorage run --config scheduler.yaml --kubeconfig ~/.kube/config --context staging
      moorage run --config scheduler.yaml --plugin rules.py -v 2 --log-format json

    \b
    Served over HTTPS at --secure-port, as kube-scheduler does:
      /livez /readyz /healthz   open to all
      /metrics /configz /debug  to callers whom the API server allows to see them
      /dashboard/               likewise, with --dashboard

    \b
    Changes take effect without a restart: configuration, ConfigMaps and plugin files are read
    again, checked like `moorage config check`, and take over between two attempts. Mistakes are
    refused with an event, and the old configuration stays in force.
      moorage run --config-map kube-system/moorage --config-map kube-system/scheduling-policies

    \b
    Signals:
      SIGTERM, SIGINT   finish what is being bound, release the lease, end with 0
      SIGHUP            read the configuration again
      SIGUSR2           log what cache and queue hold, and how it differs from the API server

    The exit code is 2 where the input is at fault, and 1 where the lease was lost or something
    broke.
    """
    options = options_of(given)
    log = logs.configure(options.verbosity, options.log_format)
    try:
        code = _load_and_run(options, log)
    except (InputError, ConfigError, RegistryError):
        raise
    except (KubeconfigError, ListenerError, CertificateError, OtelMissing) as error:
        raise InputError([str(error)]) from None
    except Exception:
        logging.getLogger(logs.ROOT).exception("the scheduler broke")
        code = FAILED
    finally:
        log.close()
    sys.exit(code)


def _load_and_run(options: RunOptions, log: Logs) -> int:
    sources = inputs.sources_of(options)
    known = sources.plugins.load()
    whole = None if options.config_maps else inputs.load_sources(sources, known)
    if whole is not None and options.write_config_to:
        _write_config(options.write_config_to, yaml_dump.dump_all(whole.loaded))
        return STOPPED
    record = RecordTo(options.record, options.anonymize, options.record_keep)
    with recording_to(record, partial(say, logging.WARNING)) as recording:
        return asyncio.run(_run(options, sources, whole, known, log, recording))


def _write_config(file: str, text: str) -> None:
    from moorage.app.output_files import write_private  # who schedules writes none

    try:
        write_private(file, text.encode())
    except OSError as error:
        said = (error.strerror or str(error)).lower()
        raise InputError([f"--write-config-to {file}: {said}"]) from None


async def _run(
    options: RunOptions,
    sources: ConfigSources,
    whole: ConfigBundle | None,
    known: Registry,
    log: Logs,
    recording: Recordings,
) -> int:
    file = options.kubeconfig or inputs.kubeconfig_named_in(sources)
    selected = inputs.select_context(file, options.context, options.master)
    if whole is None:
        await inputs.fetch_config_maps(sources, selected, options.request_seconds)
        whole = inputs.load_sources(sources, known)
    _warn(whole.configuration, options)
    metrics = Metrics(shown=options.metrics.filter())
    exporter = otlp_spans(options.otlp_endpoint) if options.otlp_endpoint else None
    tracer = AttemptTracer(metrics, log, exporter=exporter)
    control = LogControl(log, tracer)
    decisions, feeds = DecisionRecords(), services.FeedService(metrics)
    history = ConfigurationHistory(SystemClock().now)

    def applied(found: ConfigBundle) -> None:
        control.apply(found)
        recording.applied(found, sources.plugins.load(), options.plugins)
        if options.dashboard:
            history.apply(found)

    def load() -> services.Serve:
        from moorage.cli.run_server import Shown, serve_run

        shown = Shown(metrics, log, decisions, history, feeds.running)
        return partial(serve_run, options=options, shown=shown)

    process = RunProcess(
        whole,
        known,
        selected,
        sources=sources,
        interval=options.reload_interval,
        observers=(tracer, metrics, log.decisions(), decisions),
        services=(
            services.http_service(
                _listeners(options), lambda: callers_for(options.serving, selected), load
            ),
            control.service,
            services.client_service(metrics),
            feeds,
            services.strategy_service(metrics),
        ),
        applied=applied,
        seed=options.seed,
        request_seconds=options.request_seconds,
        max_in_unschedulable=options.pod_max_in_unschedulable_pods_duration.seconds,
        tap_of=recording.tap_of,
        batching=options.flags.batching,
    )
    names = ", ".join(process.scheduler.profiles)
    say(logging.INFO, "scheduling", profiles=names, server=process.server.url)
    try:
        return await process.run()
    finally:
        if exporter is not None:
            await asyncio.to_thread(exporter.close)


def _listeners(options: RunOptions) -> list[Listener]:
    certificates = Certificates(
        options.tls_cert_file,
        options.tls_private_key_file,
        options.cert_dir,
        options.serving.tls,
    )
    shared = options.serving.permit_port_sharing
    listeners = []
    if options.secure_port:
        listeners.append(Listener(options.bind_address, options.secure_port, certificates, shared))
    if options.http_port:
        listeners.append(Listener("127.0.0.1", options.http_port, None))
    if options.dashboard and not listeners:
        raise InputError(["--dashboard: nothing is served: give --secure-port or --http-port"])
    return listeners


def _warn(loaded: SchedulerConfiguration, options: RunOptions) -> None:
    """Warn of deprecated flags, and of two schedulers of one name that bind the same pods."""
    for line in options.flags.warnings(loaded, file=options.configured):
        say(logging.WARNING, line)
    election = loaded.leader_election
    lease = election.resource_namespace, election.resource_name
    if not options.configured:
        say(
            logging.INFO,
            "no configuration is named: scheduling as kube-scheduler does by default",
            profiles=", ".join(profile.scheduler_name for profile in loaded.profiles),
            lease="/".join(lease),
        )
    ours = {profile.scheduler_name for profile in loaded.profiles}
    if DEFAULT_SCHEDULER in ours and lease != (KUBE_NAMESPACE, KUBE_LEASE):
        say(
            logging.WARNING,
            f"a profile is named {DEFAULT_SCHEDULER}: stop kube-scheduler, or share its lease "
            f"(leaderElection: resourceNamespace {KUBE_NAMESPACE}, resourceName {KUBE_LEASE}), or "
            "both will schedule the same pods",
        )
