"""What becomes of pods, in the order in which the API server says it.

A watch of its own, in a thread: nobody has to list thousands of pods again and again to see how far
a test has come, and what was true only for a moment is not missed.
"""

import contextlib
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from tests.integration.control_plane import ControlPlane, Refused

Raw = dict[str, Any]
WATCH_SECONDS = 600
RECONNECT_SECONDS = 0.05
LOOK_SECONDS = 0.05


class Recorded:
    """Pods as they are now, and every change there was."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._changing = threading.Lock()
        self._ended = False
        self._socket: socket.socket | None = None
        self._version = ""
        self.pods: dict[str, Raw] = {}
        self.changes: list[tuple[str, Raw]] = []
        """(ADDED, MODIFIED or DELETED, the pod), in the API server's order."""

    @property
    def placed(self) -> dict[str, str]:
        """Which node each pod is bound to, by the pod's name."""
        return {
            name: pod["spec"]["nodeName"]
            for name, pod in list(self.pods.items())
            if pod["spec"].get("nodeName")
        }

    @property
    def bindings(self) -> list[tuple[Raw, str]]:
        """Each time a pod was seen on a node on which it was not before, in order."""
        found, known = [], dict[str, str]()
        for _, pod in self.changes:
            node, uid = pod["spec"].get("nodeName", ""), pod["metadata"]["uid"]
            if node != known.get(uid, ""):
                known[uid] = node
                found.append((pod, node))
        return found

    def until(self, check: Callable[["Recorded"], bool], otherwise: str, within: float) -> None:
        """Return when a check holds."""
        deadline = time.monotonic() + within
        while True:
            with self._changing:
                if check(self):
                    return
            told = f"{len(self.placed)} of {len(self.pods)} bound"
            assert time.monotonic() < deadline, f"{otherwise}: {told}"
            time.sleep(LOOK_SECONDS)

    def begin(self) -> None:
        """List, and note what has changed since it was last heard of."""
        listed = self._plane.request("GET", "/api/v1/pods")
        found = {pod["metadata"]["name"]: pod for pod in listed["items"]}
        for name in self.pods.keys() - found.keys():
            self._note("DELETED", self.pods[name])
        for name, pod in found.items():
            known = self.pods.get(name)
            if known is None:
                self._note("ADDED", pod)
            elif known["metadata"]["resourceVersion"] != pod["metadata"]["resourceVersion"]:
                self._note("MODIFIED", pod)
        self._version = listed["metadata"]["resourceVersion"]

    def follow(self) -> None:
        """Watch until ended, over every connection that breaks."""
        while not self._ended:
            with contextlib.suppress(OSError, ValueError, http.client.HTTPException, Refused):
                self._watch()
            time.sleep(RECONNECT_SECONDS)

    def end(self) -> None:
        self._ended = True
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def _watch(self) -> None:
        query = f"watch=1&resourceVersion={self._version}&timeoutSeconds={WATCH_SECONDS}"
        headers = {"Authorization": f"Bearer {self._plane.token}"}
        with contextlib.closing(self._plane.connect()) as connection:
            connection.request("GET", f"/api/v1/pods?{query}", headers=headers)
            answer = connection.getresponse()
            if answer.status >= 400:
                self.begin()
                return
            self._socket = connection.sock
            connection.sock.settimeout(WATCH_SECONDS)
            while line := answer.readline():
                event = json.loads(line)
                if event["type"] == "ERROR":  # the version is no longer kept
                    self.begin()
                    return
                self._note(event["type"], event["object"])

    def _note(self, kind: str, pod: Raw) -> None:
        name = pod["metadata"]["name"]
        with self._changing:
            self._version = pod["metadata"]["resourceVersion"]
            self.changes.append((kind, pod))
            if kind == "DELETED":
                self.pods.pop(name, None)
            else:
                self.pods[name] = pod


@contextlib.contextmanager
def recorded(plane: ControlPlane) -> Iterator[Recorded]:
    """Follow the pods of all namespaces; names are taken for unique."""
    made = Recorded(plane)
    made.begin()
    thread = threading.Thread(target=made.follow, name="recorded", daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.end()
        thread.join(10)
