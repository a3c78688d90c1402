"""kube-scheduler's flags about serving: TLS, authentication and authorization of callers."""

import logging
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec

from moorage.config.durations import Duration
from moorage.config.field_errors import InputError
from moorage.kube import kubeconfig
from moorage.kube.kube_api_server import KubeApiServer
from moorage.kube.kubeconfig import SelectedContext
from moorage.observe.logs import say
from moorage.serve.callers import HEALTH_PATHS, Callers
from moorage.serve.client_certificates import CaBundle, ClientCertificates, FrontProxy
from moorage.serve.request_authorizer import Authorizer, KeptFor
from moorage.serve.secure_serving import CertificateError, TlsTerms
from moorage.watch.api_errors import ApiError
from moorage.watch.api_resources import RESOURCES

LOOKUP: Final = ("kube-system", "extension-apiserver-authentication")
REVIEW_QPS: Final = 30.0
REVIEW_BURST: Final = 60
REVIEW_SECONDS: Final = 10.0
TEN_SECONDS: Final = Duration.of_seconds(10)


class ServingFlags(msgspec.Struct, frozen=True):
    """The flags as given."""

    authentication_kubeconfig: str = ""
    authentication_skip_lookup: bool = False
    authentication_token_webhook_cache_ttl: Duration = TEN_SECONDS
    authentication_tolerate_lookup_failure: bool = True
    client_ca_file: str = ""
    requestheader_allowed_names: tuple[str, ...] = ()
    requestheader_client_ca_file: str = ""
    requestheader_extra_headers_prefix: tuple[str, ...] = ("x-remote-extra-",)
    requestheader_group_headers: tuple[str, ...] = ("x-remote-group",)
    requestheader_uid_headers: tuple[str, ...] = ()
    requestheader_username_headers: tuple[str, ...] = ("x-remote-user",)
    authorization_always_allow_paths: tuple[str, ...] = HEALTH_PATHS
    authorization_kubeconfig: str = ""
    authorization_webhook_cache_authorized_ttl: Duration = TEN_SECONDS
    authorization_webhook_cache_unauthorized_ttl: Duration = TEN_SECONDS
    tls_cipher_suites: tuple[str, ...] = ()
    tls_min_version: str = ""
    tls_sni_cert_key: tuple[str, ...] = ()
    permit_port_sharing: bool = False

    @property
    def tls(self) -> TlsTerms:
        """The TLS settings."""
        by_name = tuple(map(named_certificate, self.tls_sni_cert_key))
        return TlsTerms(self.tls_min_version, self.tls_cipher_suites, by_name)

    @property
    def kept_for(self) -> KeptFor:
        """How long reviews of the API server are cached."""
        return KeptFor(
            self.authentication_token_webhook_cache_ttl.seconds,
            self.authorization_webhook_cache_authorized_ttl.seconds,
            self.authorization_webhook_cache_unauthorized_ttl.seconds,
        )


def named_certificate(text: str) -> tuple[str, str, tuple[str, ...]]:
    """Parse `CERT,KEY` or `CERT,KEY:NAME,NAME`; without names, those of the certificate."""
    files, _, names = text.partition(":")
    cert, comma, key = files.partition(",")
    if not comma or not cert or not key:
        raise InputError([f"--tls-sni-cert-key {text}: write CERT,KEY or CERT,KEY:NAME,NAME"])
    listed = tuple(filter(None, names.split(",")))
    return cert, key, listed or _names_in(cert)


def _names_in(cert: str) -> tuple[str, ...]:
    openssl = shutil.which("openssl")
    if openssl is None:
        raise InputError([f"--tls-sni-cert-key {cert}: there is no openssl: name the names"])
    command = [openssl, "x509", "-noout", "-in", cert, "-ext", "subjectAltName"]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    parts = said.stdout.replace("\n", ",").split(",")
    found = tuple(part.strip().removeprefix("DNS:") for part in parts if "DNS:" in part)
    if not found:
        raise InputError([f"--tls-sni-cert-key {cert}: no DNS name in it: {said.stderr.strip()}"])
    return found


@asynccontextmanager
async def callers_for(flags: ServingFlags, selected: SelectedContext) -> AsyncIterator[Callers]:
    """The authorization of callers by the API server, for as long as the block lasts."""
    tokens = _reviewer(flags.authentication_kubeconfig, selected)
    access = _reviewer(flags.authorization_kubeconfig, selected)
    try:
        authorizer = Authorizer(tokens.create, access=access.create, kept_for=flags.kept_for)
        certificates = await _certificates(flags, tokens)
        yield Callers(authorizer, flags.authorization_always_allow_paths, certificates)
    finally:
        await tokens.close()
        await access.close()


def _reviewer(file: str, selected: SelectedContext) -> KubeApiServer:
    """A client for reviews only, so that callers do not use the scheduler's rate limit."""
    chosen = kubeconfig.load_kubeconfig([file]) if file else selected
    return KubeApiServer(chosen, qps=REVIEW_QPS, burst=REVIEW_BURST, request_seconds=REVIEW_SECONDS)


async def _certificates(flags: ServingFlags, tokens: KubeApiServer) -> ClientCertificates:
    """The CAs of callers: from files, else from the cluster if a kubeconfig for it is given."""
    found: dict[str, Any] = {}
    if flags.authentication_kubeconfig and not flags.authentication_skip_lookup:
        found = await _looked_up(flags, tokens)
    clients = _bundle(flags.client_ca_file, found.get("client-ca-file", ""))
    by_flag = flags.requestheader_client_ca_file
    proxies = _bundle(by_flag, found.get("requestheader-client-ca-file", ""))
    terms = _front_proxy(flags) if by_flag else _front_proxy_of(found)
    return ClientCertificates(clients, proxies, terms)


def _bundle(file: str, pem: str) -> CaBundle:
    """The authorities in a file, else those that were looked up."""
    try:
        return CaBundle(file=file) if file else CaBundle(pem)
    except CertificateError as error:
        raise InputError([str(error)]) from None


async def _looked_up(flags: ServingFlags, tokens: KubeApiServer) -> dict[str, Any]:
    try:
        return dict((await tokens.get(RESOURCES["configmaps"], *LOOKUP)).get("data") or {})
    except ApiError as error:
        where = "/".join(LOOKUP)
        if not flags.authentication_tolerate_lookup_failure:
            raise InputError([f"--authentication-kubeconfig: {where}: {error}"]) from None
        say(
            logging.WARNING,
            "Client certificates are not accepted",
            config_map=where,
            err=str(error),
        )
        return {}


def _front_proxy(flags: ServingFlags) -> FrontProxy:
    return FrontProxy(
        flags.requestheader_allowed_names,
        flags.requestheader_username_headers,
        flags.requestheader_group_headers,
        flags.requestheader_uid_headers,
        flags.requestheader_extra_headers_prefix,
    )


def _front_proxy_of(found: dict[str, Any]) -> FrontProxy:
    def listed(key: str) -> tuple[str, ...]:
        return tuple(msgspec.json.decode(found.get(key) or "[]"))

    return FrontProxy(
        listed("requestheader-allowed-names"),
        listed("requestheader-username-headers"),
        listed("requestheader-group-headers"),
        listed("requestheader-uid-headers"),
        listed("requestheader-extra-headers-prefix"),
    )
