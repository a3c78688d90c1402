"""What a profile hands over to the one that replaces it, or that runs beside it.

1. If nothing differs, the old profile stays in use, with its columns and counters.
2. Otherwise columns and counters begin anew. A plugin of the same class as before inherits from its
   predecessor, and keeps those entries of `shared` that it declares as `carried`.
"""

from moorage.cycle.profile import Profile


def replace_profile(before: Profile | None, after: Profile) -> Profile:
    """The profile to use from now on: `before` if nothing differs, else `after`."""
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
    """Let another profile's plugins inherit; both profiles share the `carried` state afterwards."""
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
