"""The HTTP server of a running scheduler: health, metrics, configz, profiling.

    health                liveness and readiness: kube's checks and texts
    loop_watchdog         whether the event loop and the scheduling loop make progress
    callers               how a server identifies callers, and which paths are open to all
    gate                  decides who gets through to a handler
    request_authorizer    authorizes callers by TokenReview and SubjectAccessReview
    review_budget         limits the reviews that callers may cause
    client_certificates   callers with a certificate, or behind a front proxy
    secure_serving        addresses and certificates; plain HTTP on loopback only
    cipher_suites         TLS versions and suites by Go's names
    open_listener         a port, opened with its certificate before the server answers
    bounded_listener      accepts a limited number of connections
    decisions             the last attempts, filtered and paged, or as a stream
    questions             questions that are POSTed, few at a time
    debug_profiles        stacks and profiles of the running process
    configz               the active configuration, as JSON
    http_server           the routes, and `Server`

Law of the package: no request changes a decision. Health is open to all. For everything else, the
API server decides who may see it, unless it is served on loopback only.
"""
