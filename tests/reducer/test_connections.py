"""Where a reducer looks for the state folder of its instance."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from mars.adapters.storage import StateAwayError
from mars.adapters.zookeeper import Znode
from mars.config import Config
from reducer.connections import state_folder


def test_a_reducer_whose_state_folder_is_not_mounted_does_not_start(tmp_path):
    """It would be given key parts that other hosts can read."""
    config = Config(data=tmp_path)
    zookeeper = Mock(get=Mock(return_value=Znode(b'{"id": "ours", "format": 1}', 0)))
    with pytest.raises(StateAwayError, match="is of instance none"):
        state_folder(config, zookeeper)
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "instance.json").write_bytes(b'{"id": "ours", "format": 1}')
    assert state_folder(config, zookeeper).instance == "ours"
