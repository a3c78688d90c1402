"""How a server identifies callers, and which paths are open to all."""

from typing import Final, NamedTuple

from moorage.serve.client_certificates import ClientCertificates
from moorage.serve.request_authorizer import Authorizer

HEALTH_PATHS: Final = ("/healthz", "/readyz", "/livez")


class Callers(NamedTuple):
    """The settings of a server's gate; without an authorizer only open paths are answered."""

    authorizer: Authorizer | None
    open_paths: tuple[str, ...]
    certificates: ClientCertificates
