"""Another configuration without a restart: read, checked whole, put in force between two attempts.

    files, config_maps   where texts come from, and how it is noticed that they change
    texts, whole         what they say together: configuration, policies, canaries; or what is wrong
    building             profiles ready to take over
    sources              all of these, from reading to being ready
    fixed                settings that only a restart changes
    reloading, telling   when it is done, and what is told of it

Law of the package: all or nothing. What is not right as a whole is refused, with every fault and
its place, and what was in force stays in force.
"""
