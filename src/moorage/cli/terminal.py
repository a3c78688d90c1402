"""A console for tables and colours; imported where it is used, because rich is slow to import."""

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from moorage.api.outside_text import printable


class Terminal(Console):
    """A console that shows control characters in what it prints; only its own take effect."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for each in super().render(renderable, options):
            yield each if each.control else Segment(printable(each.text), each.style)
