"""The HTTP server of a running scheduler: health, metrics, configz, profiling.

    health                may it live, is it ready: kube's checks and texts
    loop_watchdog         whether the event loop and the scheduling loop get on
    callers               how callers are known, and what is open to everybody
    gate                  who gets through to a handler
    request_authorizer    who may look, by TokenReview and SubjectAccessReview
    review_budget         limits on the reviews that callers may cause
    client_certificates   callers who show a certificate, or come through a front proxy
    secure_serving        where to listen and with which certificate; plain HTTP on loopback only
    cipher_suites         TLS versions and suites by Go's names
    open_listener         a port, opened with its certificate before the server answers
    bounded_listener      accepts connections, only so many at once
    decisions             the last attempts, filtered and paged, or as a stream
    questions             questions that are POSTed, one at a time
    debug_profiles        stacks and profiles of the running process
    configz               the configuration in force, as JSON
    http_server           the routes, and `Server`

Law of the package: nothing asked here changes a decision. Health is open to all; everything else
asks the API server who may see it, unless it is served on loopback alone.
"""
