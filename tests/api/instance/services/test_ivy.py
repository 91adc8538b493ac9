"""The Maven repository's address is read out of a Java class file."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from api.instance.services.errors import SetupError
from api.instance.services.ivy import _CLASS, default_root


def jars(folder: Path, *texts: str) -> Path:
    """A folder with an Ivy whose class has these texts as a class file has them."""
    with zipfile.ZipFile(folder / "ivy-2.5.jar", "w") as archive:
        archive.writestr(_CLASS, b"\xca\xfe\xba\xbe" + b"".join(
            b"\x01" + len(text).to_bytes(2, "big") + text.encode() for text in texts))
    return folder


def test_the_repository_of_maven_2_is_found_among_others(tmp_path) -> None:
    texts = ("https://old.test/maven/", "ROOT", "https://new.test/maven2/", "x")
    assert default_root(jars(tmp_path, *texts)) == "https://new.test/maven2/"


def test_an_ivy_without_it_or_no_ivy_is_an_error_that_names_the_setting(tmp_path) -> None:
    for _ in range(2):
        with pytest.raises(SetupError) as caught:
            default_root(tmp_path)
        assert "maven_url" in caught.value.hint
        jars(tmp_path, "https://old.test/maven/")


def test_the_ivy_of_pyspark_names_a_repository() -> None:
    assert default_root().startswith("https://")
