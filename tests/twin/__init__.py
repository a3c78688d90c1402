"""The deterministic twin: two replicas on an embedded API server, in virtual time, with faults.

    story            what happens: pods and nodes come and go, replicas and their network fail
    objects          the nodes, pods, gangs, quotas and budgets of stories
    users            what users, kubelets and administrators do
    weather          what is wrong between a replica and the API server, and with its disk
    faulty_server    one replica's view of the API server, through a network that fails
    replica          one `moorage run`: election, freshness, scheduler; killed and begun again
    checker          what must hold at every moment, seen from the store alone
    settled          what must hold when all is quiet
    twin             one run of a story
    drawn            stories that Hypothesis draws, and shortens where they break
    mutants          the scheduler with one safeguard taken out
    shrinking        the fewest steps of a story that still break it

Law of the package: everything that happens follows from the story and its seed. The same story
breaks in the same way, wherever it is run.
"""
