"""What the faults of whole instances are made of."""

import subprocess
import sys

from api.instance.identity import FORMAT
from tests.nemesis.faults.instances import REFUSALS, newer
from tests.nemesis.instance import ROOT


def test_a_newer_version_is_a_copy_that_says_so(tmp_path):
    place = newer(tmp_path, 3)
    line = ("from api.instance import identity; import api, mars; "
            "print(identity.FORMAT, api.__path__[0], mars.__path__[0])")
    told = subprocess.run([sys.executable, "-P", "-c", line], env={"PYTHONPATH": f"{place}:{ROOT}"}, text=True,
                          capture_output=True, check=True).stdout.split()
    assert told == [str(FORMAT + 3), str(place / "api"), str(ROOT / "mars")]
    assert 'version="0.1.3"' in (place / "api" / "rest" / "app.py").read_text()


def test_the_refusals_are_those_of_the_code():
    text = (ROOT / "api" / "instance" / "identity.py").read_text()
    assert [words for words in REFUSALS if words not in text] == []
