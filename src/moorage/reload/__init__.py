"""Another configuration without a restart: read, checked whole, put in force between two attempts.

    building     profiles ready to take over

Law of the package: all or nothing. What is not right as a whole is refused, with every fault and
its place, and what was in force stays in force.
"""
