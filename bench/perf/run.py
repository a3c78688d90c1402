"""One workload with one scheduler, on a control plane of its own."""

import asyncio
import re
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

from bench.perf.cases import Workload
from bench.perf.client import Client
from bench.perf.measurement import Figures, Measurement
from bench.perf.operations import Operations
from bench.perf.pods import Pods
from bench.perf.schedulers import SchedulerProcess, gate_flags
from moorage.kube import kubeconfig
from moorage.kube.kube_api_server import KubeApiServer
from tests.integration.control_plane import ControlPlane, ControlPlaneError

WITHOUT: Final = ("ServiceAccount", "TaintNodesByCondition", "Priority")
"""Admission that upstream does without, too."""
FLAGS: Final = ("--max-requests-inflight=3000", "--max-mutating-requests-inflight=1000")
ENVIRONMENT: Final = {"GOGC": "400"}
"""The control plane trades memory for CPU: two cores are shared, and it needs the most of them."""
SERVED: Final = {
    "GenericWorkload": ("scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3"),
    "DynamicResourceAllocation": ("resource.k8s.io/v1beta2", "resource.k8s.io/v1alpha3"),
}
"""What is served besides where a gate is on."""
LOG_HEAD: Final = re.compile(r"[IWEF]\d{4} \S+ +\d+ \S+] ")
"""What a line of a component's log begins with: severity, time, thread and place."""
CONTROLLERS: Final = "resourceclaim-controller,garbage-collector-controller"
"""Make claims from templates, and delete them with their pods."""


class Outcome(NamedTuple):
    """What became of a workload: figures of each collection, or why there are none."""

    figures: tuple[Figures, ...]
    fault: str = ""


def control_plane(programs: Path, home: Path, workload: Workload | None) -> ControlPlane:
    gates = {} if workload is None else workload.gates
    served = ",".join(
        f"{group}=true" for gate, groups in SERVED.items() if gates.get(gate) for group in groups
    )
    runtime = [f"--runtime-config={served}"] if served else []
    flags = (*FLAGS, *gate_flags(gates), *runtime)
    return ControlPlane(programs, home, *flags, without=WITHOUT, environment=ENVIRONMENT)


def run(
    programs: Path, workload: Workload, scheduler: str, timeout: float, profile: str = ""
) -> Outcome:
    """Carry out a workload; a fault is part of the outcome, and loud in the table."""
    if workload.fault:
        return Outcome((), workload.fault)
    try:
        return _run(programs, workload, scheduler, timeout, profile)
    except ControlPlaneError as error:
        lines = str(error).splitlines()
        first, last = lines[0], LOG_HEAD.sub("", lines[-1])
        return Outcome((), f"{first} {last}"[:300])


def _run(
    programs: Path, workload: Workload, scheduler: str, timeout: float, profile: str
) -> Outcome:
    with (
        tempfile.TemporaryDirectory() as home,
        control_plane(programs, Path(home) / "plane", workload) as plane,
    ):
        if workload.gates.get("DynamicResourceAllocation"):
            _claim_controller(plane, workload)
        process = SchedulerProcess(
            scheduler, plane, workload.scheduler_config, workload.gates, profile
        )
        try:
            process.wait_until_serving()
            return asyncio.run(_carry_out(workload, plane, process, timeout))
        except RuntimeError as error:
            return Outcome((), f"{error}: {_last_line(process.log)}")
        finally:
            process.stop()


def _claim_controller(plane: ControlPlane, workload: Workload) -> None:
    plane.run(
        "kube-controller-manager",
        f"--kubeconfig={plane.kubeconfig}",
        f"--controllers={CONTROLLERS}",
        "--leader-elect=false",
        "--secure-port=0",
        "--kube-api-qps=5000",
        "--kube-api-burst=5000",
        "--concurrent-gc-syncs=20",
        *gate_flags(workload.gates),
    )


async def _carry_out(
    workload: Workload, plane: ControlPlane, process: SchedulerProcess, limit: float
) -> Outcome:
    server = KubeApiServer(
        kubeconfig.load_kubeconfig([plane.kubeconfig]), qps=0, selectors={}, request_seconds=120
    )
    pods, client = Pods(), Client(plane, server)
    measurement = Measurement(process, pods, client)
    following = asyncio.ensure_future(pods.follow(client))
    try:
        async with asyncio.timeout(limit):
            await Operations(workload, client, pods, measurement).run()
    except TimeoutError:
        return Outcome(tuple(measurement.found), f"not done after {limit:.0f} s")
    except Exception as error:  # an operation that cannot be carried out is the outcome
        return Outcome(tuple(measurement.found), _told(error))
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await server.close()
    return Outcome(tuple(measurement.found))


def _told(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"[:300]


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    return lines[-1][:200] if lines else "it said nothing"
