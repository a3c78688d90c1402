"""Extenders that failed and were ignored: one warning each; the simulation does not fail."""


class SkippedExtenders:
    """Observes extender calls; `warnings` has a line for each extender that was ignored.

    As in kube-scheduler, a decision goes on without an extender that fails and is ignorable, and
    without the scores of any extender that fails to give them.
    """

    def __init__(self) -> None:
        self._said: dict[str, str] = {}

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(self._said.values())

    def called(self, extender: str, verb: str, result: str, seconds: float) -> None:
        """An extender was asked."""

    def failed(self, pod: str, attempt: str, error: BaseException) -> None:
        """A decision goes on without an extender; `pod` is the extender's name."""
        self._said.setdefault(pod, f"{pod}: ignored, as it fails: {error}")
