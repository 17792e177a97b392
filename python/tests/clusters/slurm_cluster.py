"""A Slurm cluster of three nodes on this machine, for the tests: slurmctld and three slurmd as ordinary processes.

Needs Debian's package slurm-wlm and root (several slurmd on one machine switch users). No systemd, no munge, no cgroups.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator

from patience import PATIENCE_S, until

NODES = ("n1", "n2", "n3")

CONF = """\
ClusterName=here
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/none
CredType=cred/none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/ctld.pid
SlurmdPidFile={folder}/d.%n.pid
SlurmctldLogFile={folder}/ctld.log
SlurmdLogFile={folder}/d.%n.log
SlurmctldPort={port}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_min_interval=100000,bf_interval=1,batch_sched_delay=0
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
SlurmdTimeout=30
KillWait=2
JobRequeue=1
{nodes}
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing() -> str | None:
    """Why no cluster can be started here; None if one can."""
    for program in ("slurmctld", "slurmd", "sbatch", "srun", "scontrol", "squeue", "sinfo"):
        if shutil.which(program) is None:
            return f"{program} is not installed: Debian's package slurm-wlm has it"
    return None if os.geteuid() == 0 else "several slurmd on one machine need root"


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as held:
        probes = [held.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]


class Cluster:
    """A running cluster. Its commands see it by SLURM_CONF in `environment`."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        own, *ports = free_ports(1 + len(NODES))
        host = socket.gethostname()
        nodes = [
            f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2 RealMemory=1000 State=UNKNOWN"
            for node, port in zip(NODES, ports, strict=True)
        ]
        conf = folder / "slurm.conf"
        conf.write_text(CONF.format(host=host, folder=folder, port=own, nodes="\n".join(nodes)))
        self.environment = os.environ | {"SLURM_CONF": str(conf)}
        # A test may itself run in a job.
        for name in [name for name in self.environment if name.startswith("SLURM_") and name != "SLURM_CONF"]:
            del self.environment[name]

    def start(self) -> None:
        (self.folder / "state").mkdir()
        self._process("slurmctld", "slurmctld", "-D")
        for node in NODES:
            (self.folder / f"spool.{node}").mkdir()
            self._process(node, "slurmd", "-D", "-N", node)
        until("three idle nodes", lambda: self.run("sinfo", "-h", "-o", "%D %t").split() == ["3", "idle"], pause_s=0.1)

    def _process(self, name: str, *command: str) -> None:
        with (self.folder / f"{name}.out").open("wb") as out:
            self.processes[name] = subprocess.Popen(
                command, env=self.environment, stdout=out, stderr=out, start_new_session=True
            )

    def run(self, *command: object, cwd: pathlib.Path | None = None) -> str:
        """Runs a command of Slurm and returns what it prints."""
        done = subprocess.run(
            [str(word) for word in command], env=self.environment, text=True, capture_output=True, timeout=PATIENCE_S, cwd=cwd
        )
        assert done.returncode == 0, f"{command}: {done.stderr}{done.stdout}\n{self.logs()}"
        return done.stdout

    def kill_node(self, node: str) -> int:
        """Kills the node's daemon, the daemons of its jobs and the jobs, as a power failure does. Returns their number."""
        self.processes[node].kill()
        killed = 1
        for process in of_node(self.environment["SLURM_CONF"], node):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
                killed += 1
        return killed

    def release(self) -> None:
        """Lets requeued jobs begin at once. Slurm holds them for two minutes."""
        for line in self.run("squeue", "-h", "-r", "-t", "PD", "-o", "%i %r").splitlines():
            job, why = line.split(maxsplit=1)
            if why == "BeginTime":
                # It may have begun meanwhile.
                subprocess.run(
                    ["scontrol", "update", f"JobId={job}", "StartTime=now"], env=self.environment, capture_output=True
                )

    def is_empty(self) -> bool:
        return not self.run("squeue", "-h").strip()

    def logs(self) -> str:
        tails = [(path.name, path.read_text(errors="replace")[-1500:]) for path in sorted(self.folder.glob("*.log"))]
        return "\n".join(f"--- {name}\n{tail}" for name, tail in tails)

    def stop(self) -> None:
        with contextlib.suppress(Exception):
            subprocess.run(["scancel", "--state=RUNNING", "-u", "root"], env=self.environment, capture_output=True, timeout=PATIENCE_S)
        for process in self.processes.values():
            process.kill()
        for node in NODES:
            for process in of_node(self.environment["SLURM_CONF"], node):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
        for process in self.processes.values():
            process.wait(timeout=PATIENCE_S)


def of_node(conf: str, node: str) -> list[int]:
    """The processes of the jobs on a node, and the daemons of these jobs."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "environ").read_bytes().split(b"\0")
            command = (folder / "cmdline").read_bytes()
        except OSError:  # it has ended
            continue
        is_job = f"SLURMD_NODENAME={node}".encode() in words and f"SLURM_CONF={conf}".encode() in words
        is_step = b"slurmstepd" in command and f"SLURM_CONF={conf}".encode() in words and _node_of(folder) == node
        if is_job or is_step:
            found.append(int(folder.name))
    return found


def _node_of(process: pathlib.Path) -> str | None:
    """The node of a slurmstepd: that of the jobs below it."""
    for child in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parent = (child / "stat").read_text().rpartition(")")[2].split()[1]
            words = (child / "environ").read_bytes().split(b"\0")
        except (OSError, IndexError):
            continue
        if parent == process.name:
            for word in words:
                if word.startswith(b"SLURMD_NODENAME="):
                    return word.partition(b"=")[2].decode()
    return None


@contextlib.contextmanager
def cluster(folder: pathlib.Path) -> Iterator[Cluster]:
    made = Cluster(folder)
    try:
        made.start()
        yield made
    finally:
        made.stop()
