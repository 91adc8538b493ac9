"""Hunts for what mappers check of what they read."""

from __future__ import annotations

from confluent_kafka import Producer

from tests.nemesis.hunts import hunt
from tests.nemesis.oracle import Verdict
from tests.nemesis.scene import Scene

LARGE = 1_500  # tuples: enough for a local file


@hunt
def spilled_files_are_not_checked(scene: Scene) -> Verdict:
    """A bit of an id turns in a mapper's local file. The mapper is dead, and another one reads the file in its place."""
    rest = scene.rest("mapper.registered")
    ids = scene.produce(count=LARGE)
    pid = rest.reached()
    [file] = (scene.instance.data / "spill").glob(f"{scene.id}-*.arrow")
    found = file.read_bytes().index(ids[700].to_bytes(8, "little"))
    with file.open("r+b") as opened:
        opened.seek(found)
        opened.write((ids[700] ^ 1).to_bytes(8, "little"))
    scene.kill(pid)
    rest.end()
    return scene.conclude()


@hunt
def aborted_transactions_count(scene: Scene) -> Verdict:
    """A transaction is aborted after its tuples are in the log."""
    producer = Producer({"bootstrap.servers": scene.instance.kafka.load_address, "transactional.id": scene.name,
                         "log_level": 0})
    producer.init_transactions(30)
    scene.producer, plain = producer, scene.producer
    for end in (producer.abort_transaction, producer.commit_transaction):
        producer.begin_transaction()
        scene.produce()
        end(20)
    scene.producer = plain
    return scene.conclude()
