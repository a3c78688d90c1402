"""What a running scheduler serves over HTTP: health, metrics, its configuration, a look inside.

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

`moorage run` puts it together so, `process` being whatever holds a scheduler and its API server:

    log = logs.configure(verbosity, log_format)
    metrics = Metrics()
    scheduler = Scheduler(..., observers=(metrics, log.decisions()))
    server = wiring.server(
        scheduler,
        configuration,
        metrics=metrics,
        logs=log,
        create=api_server.create,
        listeners=[Listener(address, port, Certificates(cert_file, key_file, cert_dir))],
        leader=check,       # why this replica can neither lead nor stand by; None where it can
    )
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(server.run(), name="serve")
        tasks.create_task(scheduler.run(), name="scheduler")
    server.health.shut_down()       # on SIGTERM, before what is under way is finished
    log.close()
"""

from moorage.serve.authorizing import Authorizer
from moorage.serve.certificates import Certificates
from moorage.serve.health import Check, Health
from moorage.serve.listening import Listener
from moorage.serve.server import Server

__all__ = ["Authorizer", "Certificates", "Check", "Health", "Listener", "Server"]
