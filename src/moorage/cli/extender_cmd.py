"""`moorage extender`: a stock kube-scheduler asks Moorage's plugins."""

import asyncio
import logging
import sys
from typing import Any

import click

from moorage.cli import extender_process, extender_profile, extender_stanza, plugin_loading
from moorage.cli.extender_options import Options, extender_options
from moorage.cli.failing import failing_clearly
from moorage.kube.kubeconfig import KubeconfigError
from moorage.observe import logs
from moorage.serve.certificates import CertificateError
from moorage.simulate.manifests import InputError


@click.group("extender", short_help="Let a stock kube-scheduler ask Moorage's plugins.")
def extender_command() -> None:
    """Let a stock kube-scheduler ask Moorage's plugins over HTTP.

    The other way round, extenders that Moorage asks are named in its own configuration
    (`extenders:`), for `moorage run` and `moorage simulate` alike.
    """


@extender_command.command("serve", short_help="Answer a stock kube-scheduler.")
@extender_options
@failing_clearly
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
      moorage extender serve --config scheduler.yaml --plugin rules.py --kubeconfig ~/.kube/config

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
    options = Options(**given)
    chosen = extender_profile.choose(options, plugin_loading.load(options.plugins))
    if options.stanza:
        click.echo(extender_stanza.render(options, chosen.profile), nl=False)
        return
    log = logs.configure(options.verbosity, options.log_format)
    code = 0
    try:
        asyncio.run(extender_process.serve(options, chosen))
    except (KubeconfigError, CertificateError, extender_process.CannotServe) as error:
        raise InputError([str(error)]) from None
    except Exception:
        logging.getLogger(logs.ROOT).exception("the extender broke")
        code = 1
    finally:
        log.close()
    sys.exit(code)
