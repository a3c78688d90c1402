"""What to paste into kube-scheduler's configuration, for the extender that some options make."""

import socket
from typing import Any

import yaml

from moorage.cli import extender_process
from moorage.cli.extender_options import Options
from moorage.cycle.profile import Profile
from moorage.extender import choosing


def render(options: Options, profile: Profile) -> str:
    """The `extenders` of a KubeSchedulerConfiguration, as YAML."""
    return yaml.safe_dump({"extenders": [stanza(options, profile)]}, sort_keys=False)


def stanza(options: Options, profile: Profile) -> dict[str, Any]:
    """One extender: a verb for each thing that the plugins can be asked."""
    found: dict[str, Any] = {"urlPrefix": options.url.rstrip("/") or _here(options)}
    verbs = choosing.verbs(profile) + (["bind"] if options.serve_bind else [])
    found.update({f"{verb}Verb": verb for verb in verbs})
    if "prioritize" in verbs:
        found["weight"] = 1
    found["nodeCacheCapable"] = extender_process.follows(options)
    if found["urlPrefix"].startswith("https:"):
        found["enableHTTPS"] = True
        if options.client_ca_file:
            found["tlsConfig"] = {"insecure": True, "certFile": "FILE", "keyFile": "FILE"}
    return {**found, "ignorable": True, "httpTimeout": "1s"}


def _here(options: Options) -> str:
    scheme = "http" if options.http else "https"
    everywhere = options.bind_address in ("0.0.0.0", "::", "")
    host = socket.gethostname() if everywhere else options.bind_address
    return f"{scheme}://{host}:{options.port}"
