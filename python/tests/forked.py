"""Programs of tests that import PyTorch, begun by a fork of a process that has imported it. Importing takes two seconds of
processors each time.

    forked.run([sys.executable, "-c", code, *words], ...)      as subprocess.run
    forked.Popen([sys.executable, script, *words], ...)        as subprocess.Popen

The program has its own arguments, folder, environment, files, session and exit code, is a child of the caller, and ends as an
interpreter does. What an interpreter, PyTorch or the dynamic linker read when they begin decides which process is forked:
one is begun for each such environment. Ranks that `torch.distributed.run` starts are forked, too.

Other options of Python, other arguments of Popen, other systems than Linux, and an environment in which importing begins
threads (OMP_NUM_THREADS above 1): the program is started plainly, as by subprocess.
"""

from __future__ import annotations

import atexit
import builtins
import contextlib
import ctypes
import gc
import json
import os
import pathlib
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import types
from typing import Any

IMPORTS = ["numpy", "torch", "torch.distributed"]
#: Beginnings of the names of variables that are read before a program runs, or while PyTorch is imported.
EARLY = ("LC_", "LANG", "LD_", "MALLOC_", "GLIBC_", "PYTHON", "OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "NPY_", "NUMPY_",
         "TORCH_", "PYTORCH_", "ATEN_", "DNNL_", "CUDA_HOME", "CUDA_PATH")  # fmt: skip
#: Of these the ones that a fork reads anew.
LATE = ("PYTHONPATH", "TORCH_NCCL_ASYNC_ERROR_HANDLING")
PR_SET_CHILD_SUBREAPER = 36


def run(words: list[object], *, check: bool = False, capture_output: bool = False, timeout: float | None = None,
        **settings: Any) -> subprocess.CompletedProcess[Any]:  # fmt: skip
    """As subprocess.run, without input."""
    if capture_output:
        settings |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with Popen([*map(str, words)], **settings) as process:
        try:
            out, errors = process.communicate(timeout=timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(process.args, process.returncode, out, errors)
    if check:
        done.check_returncode()
    return done


class Popen(subprocess.Popen):
    """A program of Python that is a fork; its other functions are those of every process."""

    def _execute_child(
        self, args, executable, preexec_fn, close_fds, pass_fds, cwd, env, startupinfo, creationflags, shell,
        p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite, *more,
    ) -> None:  # fmt: skip
        pipes = (p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)
        restore_signals, gid, gids, uid, umask, session, group = more
        environment = {**os.environ} if env is None else {**env}
        words = [os.fspath(word) for word in args]
        usual = (executable, preexec_fn, tuple(pass_fds), shell, gid, gids, uid, umask, group)
        plain = usual != (None, None, (), False, None, None, None, -1, -1) or not close_fds or not restore_signals
        found = None if plain or sys.platform != "linux" else program(words)
        path = None if found is None else server(environment)
        if path is None:
            super()._execute_child(
                args, executable, preexec_fn, close_fds, pass_fds, cwd, env, startupinfo, creationflags, shell, *pipes, *more
            )
            return
        given = {"words": words, "program": found, "cwd": os.fspath(cwd or os.getcwd()), "env": environment, "session": bool(session)}
        files = [theirs if theirs >= 0 else own for own, theirs in enumerate((p2cread, c2pwrite, errwrite))]
        self.pid = ask(path, given, files)
        self._child_created = True
        self._close_pipe_fds(*pipes)


def program(words: list[str]) -> tuple[str, str, list[str]] | None:
    """What kind of program a command line of this Python names, the program, and its words; None: begin it plainly."""
    if words[0] != sys.executable or len(words) < 2:
        return None
    rest = words[2:] if words[1] == "-u" else words[1:]
    if rest[0] in ("-c", "-m"):
        return rest[0], rest[1], rest[2:]
    return None if rest[0].startswith("-") else ("script", rest[0], rest[1:])


def ask(path: str, given: dict[str, Any], files: list[int]) -> int:
    """The child that a process with the imports has forked. This process is its parent, because it adopts it."""
    adopting = ctypes.CDLL(None, use_errno=True).prctl
    payload = json.dumps(given).encode()
    with ASKING:
        assert adopting(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(path)
                socket.send_fds(connection, [len(payload).to_bytes(8, "little")], files)
                connection.sendall(payload)
                answer = connection.recv(8)
                connection.sendall(b"g")  # it is this process's child now
        finally:
            adopting(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
    assert len(answer) == 8, "the process that forks has ended"
    child = int.from_bytes(answer, "little")
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT)  # an error if it is no child of this process
    return child


#: The socket of each process that forks, by the environment that it has seen.
SERVERS: dict[str, str | None] = {}
#: One thread asks at a time: whether a process adopts children is a setting of the process.
ASKING = threading.Lock()


def key_of(environment: dict[str, str]) -> str:
    return json.dumps([(name, text) for name, text in sorted(environment.items()) if name.startswith(EARLY) and name not in LATE])


def server(environment: dict[str, str]) -> str | None:
    """The socket of a process that began in this environment, or None if importing begins threads there, which no fork would
    have. The process ends with this one."""
    key = key_of(environment)
    if key not in SERVERS:
        folder = tempfile.TemporaryDirectory(prefix="forked")
        atexit.register(folder.cleanup)
        path = os.path.join(folder.name, "socket")
        lifeline, held = os.pipe()
        ready, told = os.pipe()
        others = {name: text for name, text in environment.items() if name not in LATE}
        subprocess.Popen(
            [sys.executable, __file__, path, str(lifeline), str(told)], env=others, pass_fds=(lifeline, told),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd="/",
        )  # fmt: skip
        os.close(lifeline)
        os.close(told)
        with open(ready) as answer:
            said = answer.read()
        assert said in ("ready", "threads"), "a process that forks did not begin"
        SERVERS[key] = path if said == "ready" else None
        KEPT.append((folder, held))
    return SERVERS[key]


KEPT: list[Any] = []
#: Where Python finds modules, but for the folder of the program and PYTHONPATH.
BASE = sys.path[1:]


def forks() -> dict[str, Any]:
    """Imports, then forks. Returns in the children only: what each of them is to do."""
    path, lifeline, told = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    for name in IMPORTS:
        __import__(name)
    if len(os.listdir("/proc/self/task")) > 1:
        os.write(told, b"threads")
        sys.exit()
    gc.collect()
    gc.freeze()  # a collection in a child would copy what was imported
    listener = listening(path)
    os.write(told, b"ready")
    os.close(told)
    return requests(listener, lifeline)


def listening(path: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(16)
    return listener


def requests(listener: socket.socket, lifeline: int) -> dict[str, Any]:
    """Forks a child for each request, until the lifeline is closed. Returns in the children only."""
    while True:
        readable, _, _ = select.select([listener, lifeline], [], [])
        if lifeline in readable:
            os._exit(0)
        connection, _ = listener.accept()
        with connection:
            length, files, _, _ = socket.recv_fds(connection, 8, 3)
            payload, size = b"", int.from_bytes(length, "little")
            while len(payload) < size and (more := connection.recv(1 << 20)):
                payload += more
            # The one that asked may have ended before it said what.
            child = adopted() if payload and len(payload) == size else -1
            if child > 0:
                with contextlib.suppress(OSError):  # it has ended
                    connection.sendall(child.to_bytes(8, "little"))
            elif not child and not connection.recv(1):  # by then it has its parent
                os._exit(1)
        if not child:
            listener.close()
            os.close(lifeline)
            return json.loads(payload) | {"files": files}
        for file in files:
            os.close(file)


def adopted() -> int:
    """Forks a child whose parent ends, so that the process that asked for it adopts it; returns 0 in the child."""
    mine, theirs = os.pipe()
    between = os.fork()
    if not between:
        child = os.fork()
        if child:
            os.write(theirs, child.to_bytes(8, "little"))
            os._exit(0)
        os.close(mine)
        os.close(theirs)
        return 0
    os.close(theirs)
    with open(mine, "rb") as answer:
        data = answer.read(8)
    os.waitpid(between, 0)
    return int.from_bytes(data, "little") if data else -1  # -1: no process could be forked


def become(given: dict[str, Any]) -> None:
    """Makes this process the program: everything outside of what was imported is its own."""
    if given["session"]:
        os.setsid()
    for to, file in enumerate(given["files"]):
        os.dup2(file, to)
        os.close(file)
    os.chdir(given["cwd"])
    os.environ.clear()
    os.environ.update(given["env"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    kind, name, words = given["program"]
    first = {"-c": "", "-m": os.getcwd()}.get(kind, os.path.dirname(os.path.abspath(name)))
    path = [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
    sys.path[:] = [first, *path, *BASE]
    sys.argv = [{"-c": "-c", "-m": "-m"}.get(kind, name), *words]
    sys.orig_argv = given["words"]
    if "-u" in given["words"][1:2]:
        sys.stdout.reconfigure(line_buffering=True)
    sys.modules["forked"] = sys.modules["__main__"]
    if (kind, name) == ("-m", "torch.distributed.run"):
        fork_ranks()
    main = types.ModuleType("__main__")
    main.__builtins__ = builtins
    sys.modules["__main__"] = main
    try:
        if kind == "-m":
            runpy._run_module_as_main(name)
        elif kind == "-c":
            exec(compile(name, "<string>", "exec"), main.__dict__)
        else:
            main.__file__ = name
            exec(compile(pathlib.Path(name).read_bytes(), name, "exec"), main.__dict__)
    except SystemExit:
        raise
    except BaseException as error:
        frames = error.__traceback__.tb_next
        sys.excepthook(type(error), error.with_traceback(frames), frames)
        if isinstance(error, KeyboardInterrupt):
            with contextlib.suppress(Exception):
                sys.stdout.flush()
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)
        sys.exit(1)


def fork_ranks() -> None:
    """Lets the agent of torchrun begin its ranks in the same way. They are to be its children, so a child of it forks them."""
    import torch.distributed.elastic.multiprocessing.subprocess_handler.subprocess_handler as handler

    handler.Popen = Popen
    folder = tempfile.mkdtemp(prefix="forked")
    path = os.path.join(folder, "socket")
    lifeline, held = os.pipe()
    listener = listening(path)
    if os.fork():
        listener.close()
        os.close(lifeline)
        SERVERS[key_of({**os.environ})] = path
        KEPT.append(held)
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return
    os.close(held)
    become(requests(listener, lifeline))
    sys.exit()


if __name__ == "__main__":
    become(forks())
