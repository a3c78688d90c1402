"""Files over a live cluster: the file wins where an object is in both, as after `kubectl apply`.

The pods of a workload stay if the file does not change its pod template; otherwise they are created
again, as after a rollout. A template is unchanged if all of its fields are in the live template
with the same values; the live one has defaults besides.
"""

from collections.abc import Iterable
from typing import Any, Final

from moorage.memory.controllers import owned_pods
from moorage.memory.controllers.owned_pods import OwnerKey
from moorage.simulate.manifest_files import Manifest
from moorage.simulate.manifest_selection import object_key

_NAMED: Final = 5
"""How many objects are named before the rest are counted."""


def put_over(live: list[Manifest], given: list[Manifest], said: list[str]) -> list[Manifest]:
    """The objects of both; `said` gets a line that names the live objects that were replaced."""
    files = {object_key(each): each for each in given if each.name}
    replaced = [each for each in live if object_key(each) in files]
    if not replaced:
        return live + given
    anew = {_owner(each) for each in replaced if _differs(files[object_key(each)], each)}
    kept = [each for each in live if object_key(each) not in files]
    said.append(_line(replaced, anew))
    return _without_owned(kept, anew) + given


def _owner(manifest: Manifest) -> OwnerKey:
    return manifest.kind, object_key(manifest)[2], manifest.name


def _differs(file: Manifest, live: Manifest) -> bool:
    return not _is_in(_template(file), _template(live))


def _template(manifest: Manifest) -> Any:
    spec = manifest.raw.get("spec")
    return spec.get("template") if isinstance(spec, dict) else None


def _is_in(part: Any, whole: Any) -> bool:
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(_is_in(part[k], whole.get(k)) for k in part)
    if isinstance(part, list):
        alike = isinstance(whole, list) and len(part) == len(whole)
        return alike and all(map(_is_in, part, whole))
    return part == whole or str(part) == str(whole)


def _without_owned(live: list[Manifest], owners: set[OwnerKey]) -> list[Manifest]:
    """The live objects that none of `owners` owns, directly or through another object."""
    left = [each for each in live if owned_pods.owner_key(each.raw) not in owners]
    gone = {_owner(each) for each in live if owned_pods.owner_key(each.raw) in owners}
    return _without_owned(left, gone) if gone else left


def _line(replaced: Iterable[Manifest], anew: set[OwnerKey]) -> str:
    names = [
        f"{each.kind} {each.name}" + (" (its pods are made anew)" if _owner(each) in anew else "")
        for each in replaced
    ]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    listed = ", ".join(names[:_NAMED])
    return f"in the cluster and in files, taken from files: {listed}{more}"
