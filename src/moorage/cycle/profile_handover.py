"""What a profile hands over to the one that replaces it, or that runs beside it.

1. A profile in which nothing differs is the one before: its columns and counters stay.
2. Otherwise columns and counters begin anew. Of what plugins keep in `shared` stays what they say
   is `carried`, where the plugin is of the same class; and plugins take over what they hold.
"""

from moorage.cycle.profile import Profile


def replace_profile(before: Profile | None, after: Profile) -> Profile:
    """The profile to go on with in place of `before`."""
    if before is None:
        return after
    if is_same_profile(before, after):
        return before
    hand_over_state(before, after)
    return after


def is_same_profile(one: Profile, other: Profile) -> bool:
    """Whether two profiles decide alike: the same plugins, classes, arguments and settings."""
    return (
        one.resolved == other.resolved
        and one.percentage_of_nodes_to_score == other.percentage_of_nodes_to_score
        and one.guards.settings == other.guards.settings
        and {name: plugin.origin() for name, plugin in one.plugins.items()}
        == {name: plugin.origin() for name, plugin in other.plugins.items()}
    )


def hand_over_state(one: Profile, other: Profile) -> None:
    """Give another profile what was booked and measured; from then on they share it."""
    for name, plugin in other.plugins.items():
        before = one.plugins.get(name)
        if before is None or before.origin() is not plugin.origin():
            continue
        plugin.inherit(before)
        for key, begin in plugin.carried.items():
            if key not in one.shared and begin is not None:
                one.shared[key] = begin()
            if key in one.shared:
                other.shared[key] = one.shared[key]
