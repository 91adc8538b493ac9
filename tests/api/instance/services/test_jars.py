"""Kafka's jars come from a repository as pinned, or not at all."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from api.instance.services import jars
from api.instance.services.errors import SetupError
from mars.config import load


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of two small jars, and an empty cache."""
    pinned = []
    for name in ("one", "two"):
        content = name.encode() * 50_000
        jar = jars.Jar(f"org.example:{name}:1.0", len(content), hashlib.sha256(content).hexdigest())
        file = tmp_path / "repository" / jar.url_path
        file.parent.mkdir(parents=True)
        file.write_bytes(content)
        pinned.append(jar)
    monkeypatch.setattr(jars, "pinned", lambda: tuple(pinned))
    monkeypatch.setattr(jars, "_TRIES", 1)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "repository"


def test_the_list_is_whole() -> None:
    names = {jar.coordinates.split(":")[1] for jar in jars.pinned()}
    assert {"kafka_2.13", "kafka-clients", "scala-library", "log4j-slf4j-impl", "snakeyaml"} <= names
    assert len(jars.pinned()) == len(names) == 46
    assert all(len(jar.sha256) == 64 and jar.size_bytes > 1000 for jar in jars.pinned())


def test_a_coordinate_is_a_path_in_the_repository() -> None:
    jar = jars.Jar("org.apache.kafka:kafka_2.13:4.3.1", 1, "")
    assert jar.url_path == "org/apache/kafka/kafka_2.13/4.3.1/kafka_2.13-4.3.1.jar"


def test_jars_are_fetched_once(repository: Path) -> None:
    config = load({"maven_url": repository.as_uri()}, environment={})
    with pytest.raises(SetupError, match="2 of 2 jars are missing"):
        jars.classpath()
    assert jars.fetch(config) == 2
    assert jars.fetch(config) == 0
    assert [Path(jar).name for jar in jars.classpath().split(":")] == ["one-1.0.jar", "two-1.0.jar"]


def test_another_content_is_refused(repository: Path) -> None:
    jar = jars.pinned()[0]
    (repository / jar.url_path).write_bytes(b"x" * jar.size_bytes)
    with pytest.raises(SetupError, match=r"org\.example:one:1\.0.*SHA-256"):
        jars.fetch(load({"maven_url": repository.as_uri()}, environment={}))
    assert not jar.file.exists()


def test_an_absent_jar_is_named(repository: Path) -> None:
    jar = jars.pinned()[1]
    (repository / jar.url_path).unlink()
    with pytest.raises(SetupError, match=r"org\.example:two:1\.0") as caught:
        jars.fetch(load({"maven_url": repository.as_uri()}, environment={}))
    assert "MARS_MAVEN_URL" in caught.value.hint


def test_damage_is_noticed(repository: Path) -> None:
    jars.fetch(load({"maven_url": repository.as_uri()}, environment={}))
    assert jars.damaged() == []
    jar = jars.pinned()[0]
    jar.file.write_bytes(b"x" * jar.size_bytes)
    assert (jars.missing(), jars.damaged()) == ([], [jar])


def test_another_list_has_a_place_of_its_own(repository: Path) -> None:
    text = "\n".join(f"{jar.coordinates} {jar.size_bytes} {jar.sha256}" for jar in jars.pinned()[:1])
    others = jars.parse(f"# why\n{text}\n", "others")
    assert jars.fetch(load({"maven_url": repository.as_uri()}, environment={}), others, "Others") == 1
    assert (jars.missing(others), len(jars.missing())) == ([], 2)
    assert others[0].file.parent == jars.folder("others") != jars.folder()
