"""One whole Mars for all short runs of benchmarks; each takes topics and queries of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from api.instance import up
from api.instance.runfile import Run
from mars import config as configuration
from mars.config import Config


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Run, Config]]:
    """An instance with one worker of each kind."""
    folder = tmp_path_factory.mktemp("bench")
    config = configuration.load({"data": folder, "mappers": 1, "reducers": 1}, environment={})
    try:
        yield up.detach(config, lambda name, detail, seconds: None), config
    finally:
        up.down(folder)
