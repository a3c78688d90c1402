"""The deterministic twin: two replicas on an embedded API server, in virtual time, with faults.

    story            what happens: pods and nodes come and go, replicas and their network fail
    faulty_server    one replica's view of the API server, through a network that fails
    replica          one `moorage run`: election, freshness, scheduler; killed and begun again
    checker          what must hold, seen from the store alone
    twin             one run of a story
    mutants          the scheduler with one safeguard taken out
    shrinking        the fewest steps of a story that still break it

Law of the package: everything that happens follows from the story and its seed. The same story
breaks in the same way, wherever it is run.
"""
