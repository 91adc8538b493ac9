"""The services that Mars stands on. The modules kafka, zookeeper and redis have `start(config, data_dir)`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from api.instance.services.errors import SetupError
from api.instance.services.service import Service
from mars.config import Config

__all__ = ["Service", "Services", "SetupError", "start_all"]


@dataclass
class Services:
    """All three, ready."""

    kafka: Service
    zookeeper: Service
    redis: Service

    def __iter__(self) -> Iterator[Service]:
        return iter((self.kafka, self.zookeeper, self.redis))

    def stop(self, timeout_s: float = 10.0) -> None:
        """Stops those that Mars started, all at once, within `timeout_s` and a moment; safe to call again."""
        _stop_all(self, timeout_s)


def start_all(config: Config, data_dir: Path,
              report: Callable[[Service], None] = lambda _service: None) -> Services:
    """Starts Kafka, ZooKeeper and Redis at once, or looks at those that the configuration names.

    Calls `report`, in this thread, with each as it gets ready. If one fails, `report` raises, or the user
    interrupts, then the others are stopped and the error goes on; a service's own is a MarsError.
    """
    from api.instance.services import kafka, redis, zookeeper
    ready: dict[str, Service] = {}
    pool = ThreadPoolExecutor(3, thread_name_prefix="start")
    futures = [pool.submit(module.start, config, data_dir) for module in (kafka, zookeeper, redis)]
    try:
        for future in as_completed(futures):
            service = future.result()
            ready[service.name] = service
            report(service)
    except BaseException:
        # A start cannot be broken off, but its time is bounded: wait, then stop what came of it.
        pool.shutdown(wait=True, cancel_futures=True)
        _stop_all([future.result() for future in futures
                   if not future.cancelled() and future.exception() is None], timeout_s=10.0)
        raise
    pool.shutdown()
    return Services(**ready)


def _stop_all(services: Iterable[Service], timeout_s: float) -> None:
    with ThreadPoolExecutor(3, thread_name_prefix="stop") as pool:
        for future in [pool.submit(service.stop, timeout_s) for service in services]:
            future.result()
