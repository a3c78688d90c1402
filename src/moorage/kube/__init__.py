"""The client of a real API server: kubeconfig, credentials, HTTP, leader election.

    kubeconfig, incluster   where the API server is and who we are
    credentials, exec_plugin, impersonation, tls, proxies, access   how to prove it and get there
    sockets                 every socket, until it is closed
    requests, answers, secrecy, wire, wires   short requests
    sessions                long answers, answers without an end, proxies: aiohttp's part
    connection, refusals    both, and how a server refuses
    limits, sending         the pace of requests, and which are repeated
    objects, binding, server   `KubeApiServer`: the surface itself
    leader_election, fence  one leader among many replicas, and nothing sent by any other

The law of this package:

- It is the only package that opens sockets to an API server.
- What is listed and watched goes from bytes into structs, with no dict in between.
- A request is repeated only where repeating it is safe: reads, writes that an identity guards, and
  what the server says it has not done. A binding whose outcome is unclear is looked up, never
  guessed.
- Credentials are read anew when they change or are refused; they appear in no message.
"""
