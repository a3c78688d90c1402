"""kube-scheduler's extender protocol, both ways: Moorage calls extenders, and is called as one.

    wire         what is sent and answered, as k8s.io/kube-scheduler/extender/v1 writes it
    reading      answers and requests read as Go reads them, whatever the case of their names
    client       the extenders of a configuration, asked over HTTP
    tls          how they are trusted, and trust us
    asking       a decision waits for an answer, and the event loop does not
    answering    what plugins say to what kube-scheduler asks
    nodes        the nodes that requests speak of
    server       the routes

Law of the package: it knows the protocol, and nothing of schedulers. Decisions are made below it,
in `cycle`; who runs them is above it.
"""
