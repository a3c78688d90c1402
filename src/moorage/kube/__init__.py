"""The client of a real API server: kubeconfig, credentials, HTTP, leader election.

    kubeconfig         kubeconfig files, and the context that is selected
    credentials        a token, a token file, or a credential plugin
    exec_plugin        exec credential plugins, run and kept until they expire
    tls                TLS contexts for the API server
    access             address, credentials, TLS and proxy for one context
    sockets            every socket, until it is closed
    http1              HTTP/1.1 for requests whose answers end
    http_pool          the connections that such requests take turns on
    http_stream        HTTP/1.1 answers that are read as they arrive
    direct_requests    requests straight to an API server
    proxied_requests   requests through a proxy: aiohttp's part
    connection         requests to one API server, counted, by either way
    leader_election    one replica leads, the others wait until its Lease expires
    fence              who has lost the lease sends nothing more
    binding_request    a Binding that takes effect exactly once
    http_proxy         the HTTP proxy for the API server, chosen by Go's rules for proxy variables
    in_cluster_config  the service account that the kubelet mounts
    kube_api_server    `KubeApiServer`: the surface itself
    request_sender     API requests within client-side rate limits, retried where that is safe
    response_decoder   lists and watch events from bytes into structs
    status_errors      turns an HTTP error or a Kubernetes Status into an `ApiError`

Law of the package:

- It is the only package that opens sockets to an API server.
- What is listed and watched goes from bytes into structs, with no dict in between.
- A request is repeated only where repeating it is safe: reads, writes that an identity guards, and
  what the server says it has not done. A binding whose outcome is unclear is looked up, never
  guessed.
- Credentials are read anew when they change or are refused; they appear in no message.
"""
