"""Recordings: everything decisions depend on, kept in order, and played back bit for bit.

    entries           the types of entries, and the version of the format
    segments          the files: frames with a checksum, rotated; a torn tail is detected
    journal           a thread that compresses and writes entries; copies of recordings
    retention         how much is kept, and which files are removed
    redaction         leaves out what may hold a secret before it is written
    recorded_cache    a cache that records every change to its content
    recorder          records every decision, and its inputs other than the cache
    extender_answers  the answers of extenders: recorded, and given again
    noted_state       state of features that plugins read besides the cache: recorded, and restored
    outcomes          the outcome of an attempt, in the form that is compared
    plugin_code       the code of plugins by its hash, and which hashes differ
    configuration     a configuration with its plugins, as text, and built again from it
    replay            plays a recording back on a cache of its own
    checkpoint        the state at a moment, as the beginning of another recording
    cut               the minutes around an incident, from a long recording
    pseudonyms        one per name, the same everywhere, in the same order as the names
    anonymous         a recording with names, labels, namespaces and images replaced
    anonymous_objects  which fields of objects hold names
    moments           moments as people name them: a time, an attempt
    past              explains a moment of the past
    what_if           other configurations decide from a moment of the past on
    manifests         the cluster at a moment, as manifests
    play              plays a recording from its beginning to its end, or to an attempt
    divergence        the first attempt with another outcome: which plugin, and what differs

Law of the package: an attempt is one synchronous call, and everything it reads is recorded. Every
change to the cache is an entry, and every attempt is an entry. A replay applies the same changes to
an empty cache, and makes the same attempts with the same code. Nothing here decides, and nothing is
unpickled. Without `--record` none of it is imported.
"""
