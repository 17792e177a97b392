"""Memory of processes and their descendants, from /proc (Linux).

PSS counts a page that n processes share as 1/n for each, so a sum over processes counts every page once, pages of
mapped files included. "own" leaves those out: it is what has to go when the machine needs the memory back.
"""
import pathlib
import threading
import time


def tree(pid):
    """The process and all that descend from it, as far as they still live."""
    found, todo = [], [pid]
    while todo:
        at = todo.pop()
        found.append(at)
        try:
            for task in pathlib.Path(f"/proc/{at}/task").iterdir():
                todo += map(int, (task / "children").read_text().split())
        except OSError:
            continue
    return found


def of(pids):
    """(PSS, own) of these processes together, in MB of 10^6 bytes; one that is gone counts nothing."""
    pss = own = 0
    for pid in pids:
        try:
            text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:
            continue
        kib = {w[0]: int(w[1]) for w in map(str.split, text.splitlines()[1:])}
        pss += kib["Pss:"]
        own += kib.get("Pss_Anon:", 0) + kib.get("Pss_Shmem:", 0)
    return pss * 1024 / 1e6, own * 1024 / 1e6


class Peak(threading.Thread):
    """The largest PSS and own of a process tree, looked at every `every` seconds until stop()."""

    def __init__(self, pid, every=0.02):
        super().__init__(daemon=True)
        self.pid, self.every, self.over = pid, every, threading.Event()
        self.pss = self.own = 0.0
        self.start()

    def run(self):
        while True:
            start = time.monotonic()
            pss, own = of(tree(self.pid))
            self.pss, self.own = max(self.pss, pss), max(self.own, own)
            # a look at many processes takes long: never more than a tenth of the time
            if self.over.wait(max(self.every, 9 * (time.monotonic() - start))):
                return

    def stop(self):
        self.over.set()
        self.join()
        return self.pss, self.own
