"""The ConfigMap or file that a feed reads, or a FeedError that tells what to do about it."""

from pathlib import Path
from typing import Any

from moorage.feeds.readings import CONFIG_MAPS, FeedError
from moorage.watch.api_errors import ApiError, Forbidden, NotFound
from moorage.watch.api_server import ApiServer


def config_map_title(namespace: str, name: str) -> str:
    """A ConfigMap's name in messages."""
    return f"ConfigMap {namespace}/{name}"


async def read_config_map(
    server: ApiServer, namespace: str, name: str, *, missing: str, forbidden: str = ""
) -> dict[str, Any]:
    """The ConfigMap as stored; `missing` and `forbidden` are the remedies for error messages."""
    title = config_map_title(namespace, name)
    try:
        return await server.get(CONFIG_MAPS, namespace, name)
    except NotFound:
        raise FeedError(f"{title}: {missing}") from None
    except Forbidden as error:
        said = f"{forbidden} ({error})" if forbidden else str(error)
        raise FeedError(f"{title}: {said}") from None
    except ApiError as error:
        raise FeedError(f"{title}: {error}") from None


def read_text_file(path: str) -> str:
    """The text of a file."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise FeedError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise FeedError(f"{path}: not UTF-8 text: {error.reason} at byte {error.start}") from None
