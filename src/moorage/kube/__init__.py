"""The client of a real API server: kubeconfig, credentials, HTTP, leader election.

    kubeconfig         kubeconfig files, and the context that is selected
    credentials        a token, a token file, or a credential plugin
    exec_plugin        exec credential plugins, run and kept until they expire
    tls                TLS contexts for the API server
    access             address, credentials, TLS and proxy for one context
    sockets            every socket, until it is closed
    http1              HTTP/1.1 for requests with complete answers
    http_pool          the connections that such requests share
    http_stream        HTTP/1.1 answers that are read as they arrive
    direct_requests    requests straight to an API server
    proxied_requests   requests through a proxy, by aiohttp
    connection         requests to one API server, counted, direct or through a proxy
    leader_election    one replica leads, the others wait until its Lease expires
    fence              stops the writes of a replica that has lost the lease
    binding_request    a Binding that takes effect exactly once
    http_proxy         the HTTP proxy for the API server, chosen by Go's rules for proxy variables
    in_cluster_config  the service account that the kubelet mounts
    kube_api_server    `KubeApiServer`: implements the `ApiServer` protocol
    request_sender     API requests within client-side rate limits, retried where that is safe
    response_decoder   lists and watch events from bytes into structs
    status_errors      turns an HTTP error or a Kubernetes Status into an `ApiError`

Law of the package:

- It is the only package that opens sockets to an API server.
- Listed and watched objects are decoded from bytes into structs, with no dict in between.
- A request is repeated only if that is safe: reads, writes that a uid or version guards, and
  requests that the server says it has not executed. If the outcome of a binding is unclear, the pod
  is read; the outcome is never guessed.
- Credentials are read anew when they change or are refused. They appear in no message.
"""
