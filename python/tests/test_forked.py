"""Forked programs are what subprocess would have begun: arguments, folders, variables, output, ends and parents."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading

import pytest

import forked
from patience import PATIENCE_S

pytest.importorskip("torch")

TOLD = """
import json, os, sys
print(json.dumps([sys.argv, sys.path[:2], os.getcwd(), os.environ.get("MINE"), os.getppid(), __name__, sys.stdin.read()]))
print(sys.stdout.isatty(), sys.stdout.encoding, "torch" in sys.modules and sys.modules["__main__"].__dict__ is globals())
"""
ENDS = {
    "a code": "import sys; sys.exit(7)",
    "a text": "import sys; sys.exit('no')",
    "an error": "def f():\n    raise ValueError(3)\nf()",
    "an interrupt": "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nimport time; time.sleep(60)",
    "a signal": "import os\nos.kill(os.getpid(), 9)",
    "handlers, threads and objects": """
import atexit, threading
class Held:
    def __del__(self):
        print("deleted")
held = Held()
begin = threading.Event()
atexit.register(lambda: print("at exit"))
threading.Thread(target=lambda: (begin.wait(), print("thread"))).start()
begin.set()
""",
}


#: With more threads nothing is forked, and a new process would be compared with itself.
ENV = os.environ | {"OMP_NUM_THREADS": "1"}


@pytest.fixture(autouse=True)
def forks():
    assert sys.platform != "linux" or forked.server(ENV) is not None


@pytest.mark.parametrize("code", [TOLD, *ENDS.values()], ids=["told", *ENDS])
def test_a_fork_says_and_ends_as_a_new_process_does(code, tmp_path):
    words = [sys.executable, "-c", code, "one", "two"]
    settings = {"text": True, "cwd": tmp_path, "env": ENV | {"MINE": "x", "PYTHONPATH": "/nowhere"}, "timeout": PATIENCE_S,
                "stdin": subprocess.DEVNULL, "capture_output": True}  # fmt: skip
    ours = forked.run(words, **settings)
    if code == TOLD:
        words[2] = "import torch\n" + code
    theirs = subprocess.run(words, check=False, **settings)
    assert (ours.returncode, ours.stdout, ours.stderr) == (theirs.returncode, theirs.stdout, theirs.stderr)


def test_scripts_and_modules_run_as_those_of_a_new_process(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import sys\nprint(__file__, sys.argv, sys.path[0], __spec__ if __name__ == '__main__' else 0)\nraise KeyError(1)")
    for words in ([script, "x"], ["-m", "json.tool", "--help"], ["-u", script]):
        command = [sys.executable, *map(str, words)]
        ours = forked.run(command, text=True, capture_output=True, cwd=tmp_path, env=ENV, timeout=PATIENCE_S)
        theirs = subprocess.run(command, text=True, capture_output=True, cwd=tmp_path, env=ENV, timeout=PATIENCE_S, check=False)
        assert (ours.returncode, ours.stdout, ours.stderr) == (theirs.returncode, theirs.stdout, theirs.stderr)


def test_a_fork_is_a_child_that_can_be_ended():
    code = "import os, torch; print(os.getppid(), flush=True); import time; time.sleep(600)"
    with forked.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=ENV) as child:
        assert int(child.stdout.readline()) == os.getpid() and child.poll() is None
        child.terminate()
        assert child.wait(PATIENCE_S) == -signal.SIGTERM


def test_what_is_read_early_is_that_of_the_program():
    code = "import os, torch; print(os.environ['OMP_NUM_THREADS'], torch.get_num_threads())"
    for threads in ("1", "2"):
        done = forked.run([sys.executable, "-c", code], text=True, capture_output=True, check=True,
                          env=os.environ | {"OMP_NUM_THREADS": threads})  # fmt: skip
        assert done.stdout.split() == [threads, threads]


def test_programs_of_two_threads_have_their_own_exit_codes():
    codes = []

    def ask():
        for _ in range(10):
            codes.append(forked.run([sys.executable, "-c", "import sys; sys.exit(7)"], env=ENV, timeout=PATIENCE_S).returncode)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == [7] * 20


def test_a_request_that_is_not_finished_ends_nothing():
    with socket.socket(socket.AF_UNIX) as asker:
        asker.connect(forked.server(ENV))
        socket.send_fds(asker, [(100).to_bytes(8, "little")], [0])
    done = forked.run([sys.executable, "-c", "print(3)"], env=ENV, text=True, capture_output=True, timeout=PATIENCE_S)
    assert done.stdout == "3\n"
