"""CPU seconds and peak memory of whole process trees, of processes that come and go too."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import psutil

SAMPLE_S = 0.2


class TreeMeter:
    """Measures from entering to leaving: `cpu_s` and `peak_bytes` by part, a part being some roots with all that they
    started. Peak is of the sum of resident memory, so pages that processes share count for each. Of a process that ends
    meanwhile the last sample's CPU time counts."""

    def __init__(self, parts: dict[str, Sequence[int]]) -> None:
        self.roots = {name: [psutil.Process(pid) for pid in pids] for name, pids in parts.items()}
        self.cpu_s = dict.fromkeys(parts, 0.0)
        self.peak_bytes = dict.fromkeys(parts, 0)
        self.leaving = threading.Event()
        self.thread = threading.Thread(target=self._watch, name="tree-meter", daemon=True)

    def __enter__(self) -> TreeMeter:
        # By create time too: a number may be given to another process.
        self.before = {name: self._sample(name) for name in self.roots}
        self.last: dict[str, dict[tuple, float]] = {name: dict(found) for name, found in self.before.items()}
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.leaving.set()
        self.thread.join()
        for name in self.roots:
            self.last[name].update(self._sample(name))
            self.cpu_s[name] = sum(cpu - self.before[name].get(key, 0.0) for key, cpu in self.last[name].items())

    def _watch(self) -> None:
        while not self.leaving.wait(SAMPLE_S):
            for name in self.roots:
                self.last[name].update(self._sample(name))

    def _sample(self, name: str) -> dict[tuple, float]:
        """CPU seconds of each process of a part; the part's peak grows if it is higher now."""
        found, held = {}, 0
        for process in self._tree(name):
            try:
                with process.oneshot():
                    times = process.cpu_times()
                    held += process.memory_info().rss
                    found[process.pid, process.create_time()] = times.user + times.system
            except psutil.Error:
                continue
        self.peak_bytes[name] = max(self.peak_bytes[name], held)
        return found

    def _tree(self, name: str) -> list[psutil.Process]:
        tree = list(self.roots[name])
        for root in self.roots[name]:
            try:
                tree += root.children(recursive=True)
            except psutil.Error:
                continue
        return tree
