"""What happens to whole instances: a newer version takes over, and a second one is started by mistake (N26, N27)."""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path

from api.instance import runfile
from api.instance.identity import FORMAT
from tests.nemesis.faults import Fault, WrongError
from tests.nemesis.instance import ROOT

ENDS_S, POLL_S = 240.0, 0.2
REFUSALS = ("Redis belongs to another instance", "The state folder is not this instance's")


class Upgraded(Fault):
    """A graceful stop, and a start of a newer version, whose format is newer too; it goes on from what the older one
    wrote, and stays until the next one."""

    number = "N26"
    hold_s = (0.5, 2.0)

    def inflict(self) -> None:
        self.has_struck = self.instance.mars.exit_code() is None
        self.instance.mars.stop(25)
        self.version = self.instance.newer + 1
        self.instance.take(newer(self.instance.folder, self.version), self.version)

    def heal(self) -> None:
        if self.instance.mars.exit_code() is not None:
            self.instance.up()
        told = self.instance.api.get("/")["version"]
        if told != f"0.1.{self.version}":
            raise WrongError(f"version {told} runs, not {self.version}")


class SecondInstance(Fault):
    """Another `mars up` with a data folder of its own on the same Redis, by its own ZooKeeper or by the same one. It must
    refuse, and the first one must not notice."""

    number, weight = "N27", 0.5
    hold_s = (0.2, 1.0)

    def inflict(self) -> None:
        self.way = self.rng.choice(("a ZooKeeper of its own", "the same ZooKeeper"))
        self.data = self.instance.folder / "second"
        changes = {"data": self.data, **({"zookeeper_address": ""} if self.way.endswith("own") else {})}
        self.child = self.instance.launch("second", {"PYTHONPATH": str(ROOT)}, **changes)
        deadline = time.monotonic() + ENDS_S
        while self.child.exit_code() is None:
            run = runfile.running(self.data)
            if (run and run.state == runfile.READY) or time.monotonic() > deadline:
                raise WrongError(f"a second instance runs, with {self.way}")
            time.sleep(POLL_S)
        text = self.child.logs[0].read_text(errors="replace")
        self.refusal = next((words for words in REFUSALS if words in text), "")
        if not self.refusal:  # a service may be away for it too
            raise RuntimeError(f"ended with {self.child.exit_code()}: {text.splitlines()[-3:]}")

    def heal(self) -> None:
        if hasattr(self, "child"):
            self.child.stop(10)
            shutil.rmtree(self.data, ignore_errors=True)


def newer(folder: Path, version: int) -> Path:
    """A folder with a copy of `api`, which says that it is of this version; the other packages come from this tree, as
    theirs would be compiled anew for minutes."""
    place = folder / f"version-{version}"
    shutil.copytree(ROOT / "api", place / "api", ignore=shutil.ignore_patterns("__pycache__"))
    for name, old, new in (("rest/app.py", r'version="[\d.]+"', f'version="0.1.{version}"'),
                           ("instance/identity.py", r"(?m)^FORMAT = \d+", f"FORMAT = {FORMAT + version}")):
        text, changes = re.subn(old, new, (place / "api" / name).read_text())
        assert changes == 1, name
        (place / "api" / name).write_text(text)
    return place
