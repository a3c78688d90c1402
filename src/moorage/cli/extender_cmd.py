"""`moorage extender`: a stock kube-scheduler asks Moorage's plugins."""

import asyncio
import logging
import socket
import sys
from typing import Any

import click
import yaml

from moorage.app import extender_process, extender_profile, plugin_files
from moorage.app.extender_profile import ExtenderOptions
from moorage.cli.common import exit_on_bad_input
from moorage.cli.extender_options import extender_options
from moorage.cli.standard_streams import echo
from moorage.config.field_errors import InputError
from moorage.cycle.profile import Profile
from moorage.extender import out_of_tree_plugins
from moorage.kube.kubeconfig import KubeconfigError
from moorage.observe import logs
from moorage.serve.secure_serving import CertificateError


def render_stanza(options: ExtenderOptions, profile: Profile) -> str:
    """The `extenders` of a KubeSchedulerConfiguration, as YAML."""
    return yaml.safe_dump({"extenders": [stanza(options, profile)]}, sort_keys=False)


def stanza(options: ExtenderOptions, profile: Profile) -> dict[str, Any]:
    """One extender: a verb for each question that the plugins can answer."""
    found: dict[str, Any] = {"urlPrefix": options.url.rstrip("/") or _own_url(options)}
    verbs = out_of_tree_plugins.served_verbs(profile) + (["bind"] if options.serve_bind else [])
    found.update({f"{verb}Verb": verb for verb in verbs})
    if "prioritize" in verbs:
        found["weight"] = 1
    found["nodeCacheCapable"] = extender_process.follows_cluster(options)
    if found["urlPrefix"].startswith("https:"):
        found["enableHTTPS"] = True
        if options.client_ca_file:
            found["tlsConfig"] = {"insecure": True, "certFile": "FILE", "keyFile": "FILE"}
    return {**found, "ignorable": True, "httpTimeout": "1s"}


def _own_url(options: ExtenderOptions) -> str:
    scheme = "http" if options.http else "https"
    everywhere = options.bind_address in ("0.0.0.0", "::", "")
    host = socket.gethostname() if everywhere else options.bind_address
    return f"{scheme}://{host}:{options.port}"


@click.group("extender", short_help="Let a stock kube-scheduler ask Moorage's plugins.")
def extender_command() -> None:
    """Let a stock kube-scheduler ask Moorage's plugins over HTTP.

    The other way round, extenders that Moorage asks are named in its own configuration
    (`extenders:`), for `moorage run` and `moorage simulate` alike.
    """


@extender_command.command("serve", short_help="Answer a stock kube-scheduler.")
@extender_options
@exit_on_bad_input
def serve_command(**given: Any) -> None:
    """Answer a stock kube-scheduler's questions with the plugins of a profile.

    kube-scheduler keeps scheduling, with its own plugins; for each pod it asks here which of the
    nodes it found pass (filter) and which are better (prioritize), and, where it must make room,
    which candidates are any good (preempt). Plugins that kube-scheduler has itself are left out.

    \b
    Try it without any cluster: nodes come with each request.
      moorage extender serve --plugin rules.py --http --bind-address 127.0.0.1

    \b
    Follow the cluster, so that requests name nodes only, and plugins see the pods on them:
      moorage extender serve --config scheduler.yaml --plugin rules.py \\
        --kubeconfig ~/.kube/config --client-ca-file ca.crt

    \b
    Then tell kube-scheduler. With --stanza the same command prints, instead of serving, what to
    paste into the file that kube-scheduler's --config names:
      extenders:
      - urlPrefix: https://moorage-extender.kube-system.svc:8888
        filterVerb: filter
        prioritizeVerb: prioritize
        preemptVerb: preempt
        weight: 1
        nodeCacheCapable: true
        enableHTTPS: true
        ignorable: true       # schedule on when this extender is down; false: wait for it
        httpTimeout: 1s

    \b
    Besides the verbs: /healthz, /readyz, /metrics.
    SIGTERM and SIGINT end it with 0; the exit code is 2 where the input is at fault.
    """
    options = ExtenderOptions(**given)
    chosen = extender_profile.choose_profile(options, plugin_files.load_plugins(options.plugins))
    if options.stanza:
        echo(render_stanza(options, chosen.profile), nl=False)
        return
    log = logs.configure(options.verbosity, options.log_format)
    code = 0
    try:
        asyncio.run(extender_process.serve_extender(options, chosen))
    except (KubeconfigError, CertificateError, extender_process.CannotServe) as error:
        raise InputError([str(error)]) from None
    except Exception:
        logging.getLogger(logs.ROOT).exception("the extender broke")
        code = 1
    finally:
        log.close()
    sys.exit(code)
