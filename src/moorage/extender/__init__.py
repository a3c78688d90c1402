"""kube-scheduler's extender protocol, both ways: Moorage calls extenders, and is called as one.

    async_bridge         lets a synchronous decision await an answer
    bind_handler         answers the verb bind
    extender_server      the HTTP routes that a stock kube-scheduler calls as an extender
    http_extenders       the extenders of a configuration, called over HTTP
    http_sender          HTTP and TLS to one extender: one request within its timeout
    out_of_tree_plugins  which plugins of a profile answer as an extender
    protocol             the types of k8s.io/kube-scheduler/extender/v1
    request_bodies       JSON bodies of requests; each node is encoded once
    request_nodes        the nodes of a request, found in the cache or added to it
    verb_handler         answers the verbs filter, prioritize and preempt

Law of the package: it knows the protocol, and nothing of schedulers. Decisions are made in `cycle`,
which it imports; the packages that run it import it.
"""
