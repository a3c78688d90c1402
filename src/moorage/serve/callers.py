"""Who may ask: how callers are known, and what is open to everybody."""

from typing import Final, NamedTuple

from moorage.serve.client_certificates import ClientCertificates
from moorage.serve.request_authorizer import Authorizer

HEALTH_PATHS: Final = ("/healthz", "/readyz", "/livez")


class Callers(NamedTuple):
    """What the gate of a server goes by; without an authorizer only open paths are answered."""

    authorizer: Authorizer | None
    open_paths: tuple[str, ...]
    certificates: ClientCertificates
