"""Extenders that a simulation went on without: each is said once, and fails nothing."""


class SkippedExtenders:
    """Told by extenders how they do; `warnings` has a line for each that pods were placed without.

    As kube-scheduler does, decisions go on without an extender that is marked ignorable and fails,
    and without the scores of any that fails to give them.
    """

    def __init__(self) -> None:
        self._said: dict[str, str] = {}

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(self._said.values())

    def called(self, extender: str, verb: str, result: str, seconds: float) -> None:
        """An extender was asked."""

    def failed(self, pod: str, attempt: str, error: BaseException) -> None:
        """A decision goes on without an extender, which `pod` names."""
        self._said.setdefault(pod, f"{pod}: ignored, as it fails: {error}")
