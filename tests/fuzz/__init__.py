"""Objects and configurations that nobody would write, through everything that reads them.

    grammar          raw objects drawn from the types that scheduling reads
    mutation         raw objects, and their bytes, changed here and there
    objects          a stream of objects for one batch: drawn, mutated and valid ones
    byte_server      an API server that serves whatever bytes it is given
    cluster_batch    a scheduler that hears of a batch of objects, one by one
    places           every place of every kind, from the types that scheduling reads
    hostile_values   what an API server may store there, and nobody wishes to read
    hostile_objects  objects of an author who means harm, hostile at a few places
    victims          pods of others, and the cluster that they share with him
    hostile_batch    victims beside hostile objects: placed as without them, everybody answered
    config_batch     a batch of configurations, checked and built as a process does
    findings         what came of inputs, and what never may
    time_limit       how long one input may take

Law of the package: a batch follows from its seed and number alone; whatever is found is found
again by `python -m tests.fuzz --seed S --first N --inputs 1`.
"""
