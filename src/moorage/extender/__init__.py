"""kube-scheduler's extender protocol, both ways: Moorage calls extenders, and is called as one.

    wire         what is sent and answered, as k8s.io/kube-scheduler/extender/v1 writes it
    reading      answers and requests read as Go reads them, whatever the case of their names

    client       the extenders of a configuration, as the engine sees them
    bodies       what they are sent
    sending      one request, within its time
    tls          how they are trusted, and trust us
    asking       a decision waits for an answer, and the event loop does not
    building     all of it from a configuration

    choosing     which plugins of a profile answer a stock kube-scheduler
    nodes        the nodes that its requests speak of
    answering    what plugins say to what it asks
    binding      binding, where it leaves that to us
    server       the routes

Law of the package: it knows the protocol, and nothing of schedulers. Decisions are made below it,
in `cycle`; who runs them is above it.
"""
