"""Planted bugs fit the code that they are planted in: each can be, in a process of its own."""

from __future__ import annotations

import os
import sys
from importlib import resources

import pytest

import mapper.job  # noqa: F401  imported before the forks, for their sake
import reducer.job  # noqa: F401
from mars.adapters.exchange import Exchange
from tests.nemesis import hooks, hunts
from tests.nemesis.bugs import BUGS


def test_each_bug_can_be_planted():
    refused = []
    for name in BUGS:
        child = os.fork()
        if child == 0:
            try:
                BUGS[name].plant()
                Exchange("127.0.0.1:1")  # scripts are changed when they are loaded; nothing is sent yet
                os._exit(0)
            except BaseException as error:
                print(name, repr(error), file=sys.stderr)
                os._exit(1)
        if os.waitpid(child, 0)[1]:
            refused.append(name)
    assert refused == []


def test_each_bug_has_its_hunt():
    assert hunts.load().keys() == BUGS.keys()


@pytest.mark.parametrize("name", ["claim", "renew"])
def test_the_clock_of_a_script_can_be_set(name):
    assert hooks.TIME in resources.files("mars").joinpath(f"lua/{name}.lua").read_text()
