"""API errors with the messages a real API server writes."""

import json
from typing import Any

from moorage.watch.api_errors import AlreadyExists, Conflict, Forbidden, Invalid, NotFound
from moorage.watch.api_resources import Resource
from moorage.watch.api_server import Raw

MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


def not_found(resource: Resource, name: str) -> NotFound:
    """The object does not exist."""
    return NotFound(f'{resource.qualified} "{name}" not found')


def already_exists(resource: Resource, name: str, *, generated: bool = False) -> AlreadyExists:
    """An object of that name exists."""
    message = f'{resource.qualified} "{name}" already exists'
    if generated:
        message += ", the server was not able to generate a unique name for the object"
    return AlreadyExists(message)


def conflict(qualified: str, name: str, why: str) -> Conflict:
    """The object is not in the state that the caller expects."""
    return Conflict(f'Operation cannot be fulfilled on {qualified} "{name}": {why}')


def forbidden(resource: Resource, metadata: Raw, why: str) -> Forbidden:
    """An admission plugin refuses the object."""
    name = metadata.get("name") or metadata.get("generateName") or "Unknown"
    return Forbidden(f'{resource.qualified} "{name}" is forbidden: {why}')


def invalid(resource: Resource, name: str, *errors: str) -> Invalid:
    """Fields have invalid values."""
    causes = errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
    return Invalid(f'{_kind(resource)} "{name}" is invalid: {causes}')


def no_version(resource: Resource, name: str) -> Invalid:
    """An update lacks the resourceVersion that it replaces."""
    cause = invalid_value("metadata.resourceVersion", 0, "must be specified for an update")
    return Invalid(f'{resource.qualified} "{name}" is invalid: {cause}')


def required(field: str, detail: str = "") -> str:
    """A required field is missing."""
    return _cause(f"{field}: Required value", detail)


def not_allowed(field: str, detail: str) -> str:
    """A field must not be set like this."""
    return _cause(f"{field}: Forbidden", detail)


def invalid_value(field: str, value: Any, detail: str) -> str:
    """A field has an invalid value."""
    text = json.dumps(value, separators=(",", ":"))
    return _cause(f"{field}: Invalid value: {text}", detail)


def wrong_uid(resource: Resource, key: str, name: str, asked: str, actual: str) -> Conflict:
    """The stored object has another uid than the one to write."""
    group = f"/{resource.group}" if resource.group == "scheduling.x-k8s.io" else ""
    return conflict(
        resource.qualified,
        name,
        f"StorageError: invalid object, Code: 4, Key: /registry{group}/{resource.plural}/{key}, "
        f"ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: "
        f"{asked}, UID in object meta: {actual}",
    )


def wrong_uid_to_delete(resource: Resource, name: str, asked: str, actual: str) -> Conflict:
    """The stored object has another uid than the one to delete."""
    return conflict(
        _kind(resource),
        name,
        f"the UID in the precondition ({asked}) does not match the UID in record ({actual}). "
        "The object might have been deleted and then recreated",
    )


def _kind(resource: Resource) -> str:
    return f"{resource.kind}.{resource.group}" if resource.group else resource.kind


def _cause(text: str, detail: str) -> str:
    return f"{text}: {detail}" if detail else text
