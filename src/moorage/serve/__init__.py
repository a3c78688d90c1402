"""The HTTP server of a running scheduler: health, metrics, configz, profiling.

    health         may it live, is it ready: kube's checks and texts
    watchdog       whether the event loop and the scheduling loop get on
    authorizing    who may look: TokenReview and SubjectAccessReview, verdicts kept for seconds
    certificates   TLS from files, or signed by ourselves
    listening      where to listen: TLS anywhere, plain HTTP on loopback only
    debugging      stacks and profiles of the running process
    configuring    the configuration in force, as JSON
    server         the routes, and `Server`
    wiring         all of it for one scheduler

Law of the package: nothing asked here changes a decision. Health is open to all; everything else
asks the API server who may see it, unless it is served on loopback alone.

`moorage run` puts it together so; port 0 serves nothing:

    log = logs.configure(verbosity, log_format)
    metrics = Metrics()
    certificates = Certificates(tls_cert_file, tls_private_key_file, cert_dir)
    listeners = [Listener(bind_address, secure_port, certificates)] if secure_port else []
    process = Process(
        ...,
        observers=(metrics, log.decisions()),
        services=(wiring.service(listeners, metrics, log),),
    )
    code = asyncio.run(process.run())
    log.close()
"""

from moorage.serve.health import Check, Health
from moorage.serve.http_server import Server
from moorage.serve.request_authorizer import Authorizer
from moorage.serve.secure_serving import Certificates, Listener

__all__ = ["Authorizer", "Certificates", "Check", "Health", "Listener", "Server"]
