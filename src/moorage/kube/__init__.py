"""A real API server behind the surface of `moorage.watch`: auth, HTTP, leases.

    kubeconfig, incluster   where the API server is and who we are
    credentials, exec_plugin, tls, proxies   how to prove it and get there
    connection, limits, refusals   one HTTP request, its pace, its refusals
    objects, server, binding   `KubeApiServer`: the surface itself
    leases   one leader among many replicas

The law of this package:

- It is the only package that opens sockets to an API server.
- What is listed and watched goes from bytes into structs, with no dict in between.
- A request is repeated only where repeating it is safe: reads, writes that an identity guards, and
  what the server says it has not done. A binding whose outcome is unclear is looked up, never
  guessed.
- Credentials are read anew when they change or are refused; they appear in no message.
"""
