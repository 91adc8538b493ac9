"""The state folder of a worker: it must be the instance's."""

from __future__ import annotations

from mars.adapters.storage import Storage
from mars.adapters.view import instance_id
from mars.adapters.zookeeper import ZooKeeper
from mars.config import Config


def state_folder(config: Config, zookeeper: ZooKeeper) -> Storage:
    """The state folder of the instance that ZooKeeper names. StateAwayError if it is not there, as on a host whose mount
    is missing: a worker that started all the same would be given key parts that it cannot read."""
    storage = Storage(config.state_root, instance_id(zookeeper))
    storage.require()
    return storage
