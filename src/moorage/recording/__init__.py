"""Recordings: everything decisions depend on, kept in order, and played back bit for bit.

    entries           what a recording is made of, and its version
    segments          the files: frames with a checksum, rotated; a torn tail is found
    journal           entries are compressed and written by a thread beside the scheduler; copies
    retention         how much is kept, and which files are removed
    redaction         what may hold a secret is left out before it is written
    recorded_cache    a cache that tells of every change to what is believed
    recorder          tells of every decision, and what it depended on beside the cache
    extender_answers  what extenders answered: kept, and given again
    noted_state       state of features that plugins read beside the cache: kept, and put back
    outcomes          how an attempt came out, as it is compared
    plugin_code       the code of plugins by its hash; what differs
    configuration     a configuration with its plugins, as text, and made again
    replay            a recording played back on a cache of its own
    checkpoint        what is believed at a moment, as the beginning of another recording
    cut               the minutes around an incident, from a long recording
    pseudonyms        one for each name, the same everywhere, in the same order
    anonymous         names, labels, namespaces and images replaced, and decisions the same
    anonymous_objects  which fields of objects hold names
    moments           moments as people name them: a time, an attempt
    past              a moment of the past, explained
    what_if           other configurations decide from a moment of the past on
    manifests         the cluster at a moment, as manifests
    play              a recording from its beginning to its end, or to an attempt
    divergence        the first attempt that comes out otherwise: which plugin, and what differs

Law of the package: an attempt is one synchronous call, and what it reads is what is recorded. The
journal is kept at the cache: whatever changes what is believed is an entry, an attempt is an entry,
and a replay applies the same changes to an empty cache and makes the same attempts with the same
code. Nothing here decides; nothing is unpickled. Without `--record` none of it is imported.
"""
