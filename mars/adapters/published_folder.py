"""A folder of files that show themselves one by one, each exactly once, with a document that says up to where they go.

A file is written under a hidden name. It counts once a manifest names it: `.mars/<number>.json`, of which each number is
made once, by a hard link. Then the file gets its own name. So who reads the visible files alone never sees one that does not
count, and of two writers only one makes the next manifest. Only the newest manifest is kept.
"""

from __future__ import annotations

import contextlib
import errno
import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlparse

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from mars.adapters.storage import sync
from mars.adapters.target_errors import FencedError, TargetAwayError, TargetRefusesError

MANIFESTS = ".mars"
REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ENOTSUP)


@dataclass(frozen=True)
class Manifest:
    """The document, and the file that counts with it: (hidden name, name); None without one."""

    number: int
    document: dict
    file: tuple[str, str] | None = None


class PublishedFolder:
    """A folder by its path or file:// URI. TargetRefusesError and TargetAwayError for what the system says."""

    def __init__(self, uri: str) -> None:
        url = urlparse(uri)
        if url.scheme not in ("", "file") or url.netloc not in ("", "localhost") or not unquote(url.path).startswith("/"):
            raise TargetRefusesError(f"'{uri}' cannot be the folder", "it is an absolute path, or a URI with file://",
                                     "write INTO PARQUET '/data/results'")
        self.path = Path(unquote(url.path) if url.scheme else uri)
        self.manifests = self.path / MANIFESTS
        self.where = str(self.path)

    def is_there(self) -> bool:
        """Is it one of ours?"""
        return self.manifests.is_dir()

    def make(self) -> None:
        """Make it, in a folder that is there; one that holds something else is refused."""
        with self._translated():
            if self.path.exists() and any(self.path.iterdir()):
                raise TargetRefusesError(f"{self.path} holds something else", "a sink has a folder of its own",
                                         "name a folder that is empty, or one to be made")
            if not self.path.parent.is_dir():
                raise TargetRefusesError(f"there is no folder {self.path.parent}", "only the last one of the path is made",
                                         "make it first, on each host that has publishers")
            self.path.mkdir(exist_ok=True)
            self.manifests.mkdir(exist_ok=True)
            sync(self.path.parent)
            sync(self.path)

    def newest(self) -> Manifest | None:
        """The manifest that counts; None before the first. Its file is shown, if that was not done yet."""
        with self._translated():
            number = max(self._numbers(), default=0)
            if not number:
                return None
            raw = orjson.loads((self.manifests / f"{number}.json").read_bytes())
            found = Manifest(number, raw["document"], None if raw["file"] is None else tuple(raw["file"]))
            self._show(found)
            return found

    def write(self, name: str, rows: pa.Table) -> tuple[str, str]:
        """Write a file that does not count yet; (hidden name, name)."""
        hidden = f".{name}.{uuid.uuid4().hex[:8]}"
        with self._translated():
            pq.write_table(rows, self.path / hidden, compression="zstd")
            sync(self.path / hidden)
        return hidden, name

    def commit(self, manifest: Manifest) -> None:
        """Make the next manifest, and show its file. FencedError if another writer has made one of this number or later."""
        with self._translated():
            draft = self.manifests / f"{uuid.uuid4().hex}.draft"
            draft.write_bytes(orjson.dumps({"document": manifest.document, "file": manifest.file}))
            sync(draft)
            try:
                os.link(draft, self.manifests / f"{manifest.number}.json")
            except FileExistsError:
                raise self._fenced() from None
            finally:
                draft.unlink(missing_ok=True)
            sync(self.manifests)
            # The number may be free because a later one is there, and this one was deleted.
            if max(self._numbers(), default=0) != manifest.number:
                raise self._fenced()
            self._show(manifest)
            for number in self._numbers():
                if number < manifest.number:
                    (self.manifests / f"{number}.json").unlink(missing_ok=True)

    def sweep(self) -> None:
        """Delete files that will never count: whoever wrote them is fenced, or gone."""
        with self._translated():
            for stray in [*self.path.glob(".*.parquet.*"), *self.manifests.glob("*.draft")]:
                stray.unlink(missing_ok=True)

    def _show(self, manifest: Manifest) -> None:
        if manifest.file is not None:
            hidden, name = manifest.file
            with contextlib.suppress(FileNotFoundError):  # it was shown
                os.rename(self.path / hidden, self.path / name)
                sync(self.path)

    def _numbers(self) -> list[int]:
        return [int(path.stem) for path in self.manifests.glob("*.json")]

    def _fenced(self) -> FencedError:
        return FencedError("another publisher has the sink", f"it has made the next manifest in {self.manifests}")

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            said = f"{self.path}: {error.strerror or error}"
            if error.errno in REFUSED:
                raise TargetRefusesError("the folder refuses files", said, "let the user of Mars write there") from None
            raise TargetAwayError("the folder does not take files", said) from None
