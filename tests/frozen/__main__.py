"""Play every story with every seed, write the outcomes down, and print what has changed."""

import json

from tests.frozen.stories import FROZEN, SEEDS, STORIES, frozen


def main() -> None:
    before = frozen() if FROZEN.exists() else {}
    after = {
        name: {str(seed): story(seed).hashes() for seed in SEEDS} for name, story in STORIES.items()
    }
    for name in dict.fromkeys([*before, *after]):
        old, new = before.get(name, {}), after.get(name, {})
        for what, index in (("placements", 0), ("calls", 1)):
            seeds = [
                seed
                for seed in dict.fromkeys([*old, *new])
                if old.get(seed, [])[index : index + 1] != new.get(seed, [])[index : index + 1]
            ]
            if seeds:
                print(f"{name}: {what} of seeds {', '.join(seeds)}")
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(each)}" for name, each in after.items())
    FROZEN.write_text(f"{{\n{lines}\n}}\n")


if __name__ == "__main__":
    main()
