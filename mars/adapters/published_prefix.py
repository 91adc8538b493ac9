"""A folder of a store that speaks S3, of files that show themselves one by one, each exactly once: the protocol of
mars/adapters/published_folder.py with what such a store has.

A file is written below `.mars/`, where readers of `*.parquet` do not look. It counts once a manifest names it. A manifest
is put only if there is none of its number yet (If-None-Match), so of two writers only one makes the next. Then the file is
copied to its own name. Nothing is ever put there that does not count, and a copy that is made twice is the same.
"""

from __future__ import annotations

import contextlib
import re
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from obstore import exceptions as raised
from obstore.store import S3Store

from mars.adapters.published_folder import MANIFESTS, Manifest
from mars.adapters.target_errors import FencedError, TargetAwayError, TargetRefusesError
from mars.model.connections import Connection

if TYPE_CHECKING:
    from obstore.store import S3Config  # it is only there for hints

TIMEOUT_S, CONNECT_S = 60, 5
UNUSABLE = (raised.NotSupportedError, raised.InvalidPathError, raised.UnknownConfigurationKeyError, ValueError)
NOISE = re.compile(r"^Generic S3 error: |Error performing \w+ request: |Debug source:.*", re.DOTALL)
MADE = f"{MANIFESTS}/made"


class PublishedPrefix:
    """A folder by its URI, s3://bucket/folder. TargetRefusesError and TargetAwayError for what the store says."""

    def __init__(self, uri: str, connection: Connection, secret: Callable[[str], str]) -> None:
        url = urlsplit(uri)
        folder = unquote(url.path).strip("/")
        if url.scheme != "s3" or not url.netloc or not folder:
            raise TargetRefusesError(f"'{uri}' cannot be the folder", "it is a folder of a bucket",
                                     "write INTO PARQUET 's3://bucket/results' AT connection")
        self.where = f"s3://{url.netloc}/{folder}"
        given: S3Config = {"region": str(connection.option("REGION"))}
        if (endpoint := connection.option("ENDPOINT")) is not None:
            given["endpoint"] = str(endpoint)
        if (key := connection.option("ACCESS_KEY")) is not None:
            given["access_key_id"] = str(key)
        if "SECRET_KEY" in connection.secrets:
            given["secret_access_key"] = secret(connection.secrets["SECRET_KEY"])
        with self._translated():
            self._store = S3Store(
                url.netloc, prefix=folder, config=given,
                client_options={"allow_http": True, "timeout": timedelta(seconds=TIMEOUT_S),
                                "connect_timeout": timedelta(seconds=CONNECT_S)},
                retry_config={"max_retries": 0})  # a put that is tried again by itself cannot tell who was first

    def is_there(self) -> bool:
        """Is it one of ours?"""
        return bool(self._names(f"{MANIFESTS}/"))

    def make(self) -> None:
        """Make it; one that holds something else is refused, and so is a store that does not know If-None-Match."""
        if self._names(""):
            raise TargetRefusesError(f"{self.where} holds something else", "a sink has a folder of its own",
                                     "name a folder that is empty, or one to be made")
        with contextlib.suppress(FencedError):
            self._create(MADE, b"")
        try:
            self._create(MADE, b"")
        except FencedError:
            return
        raise TargetRefusesError(f"the store of {self.where} cannot be used", "it puts an object over another one though it "
                                 "is told not to (If-None-Match), so that two writers could each believe to be the only one",
                                 "use a store that knows conditional writes, as Amazon S3, MinIO, Ceph and R2 do")

    def newest(self) -> Manifest | None:
        """The manifest that counts; None before the first. Its file is shown, if that was not done yet."""
        number = max(self._numbers(), default=0)
        if not number:
            return None
        with self._translated():
            raw = orjson.loads(bytes(self._store.get(f"{MANIFESTS}/{number}.json").bytes()))
        found = Manifest(number, raw["document"], None if raw["file"] is None else tuple(raw["file"]))
        self._show(found)
        return found

    def write(self, name: str, rows: pa.Table) -> tuple[str, str]:
        """Write a file that does not count yet; (hidden name, name)."""
        hidden = f"{MANIFESTS}/{name}.{uuid.uuid4().hex[:8]}"
        held = pa.BufferOutputStream()
        pq.write_table(rows, held, compression="zstd")
        with self._translated():
            self._store.put(hidden, memoryview(held.getvalue()).cast("B"))
        return hidden, name

    def commit(self, manifest: Manifest) -> None:
        """Make the next manifest, and show its file. FencedError if another writer has made one of this number or later."""
        self._create(f"{MANIFESTS}/{manifest.number}.json",
                     orjson.dumps({"document": manifest.document, "file": manifest.file}))
        # The number may be free because a later one is there, and this one was deleted.
        numbers = self._numbers()
        if max(numbers) != manifest.number:
            raise self._fenced()
        self._show(manifest)
        self._delete([f"{MANIFESTS}/{number}.json" for number in numbers if number < manifest.number])

    def sweep(self) -> None:
        """Delete files that will never count: whoever wrote them is fenced, or gone."""
        self._delete([name for name in self._names(f"{MANIFESTS}/") if name != MADE and not name.endswith(".json")])

    def _show(self, manifest: Manifest) -> None:
        if manifest.file is None:
            return
        hidden, name = manifest.file
        with self._translated(), contextlib.suppress(raised.NotFoundError, FileNotFoundError):  # it was shown
            self._store.copy(hidden, name)
        self._delete([hidden])

    def _create(self, name: str, data: bytes) -> None:
        with self._translated():
            try:
                self._store.put(name, data, mode="create")
            except (raised.AlreadyExistsError, raised.PreconditionError):
                raise self._fenced() from None

    def _delete(self, names: list[str]) -> None:
        with self._translated(), contextlib.suppress(raised.NotFoundError, FileNotFoundError):
            for name in names:
                self._store.delete(name)

    def _names(self, prefix: str) -> list[str]:
        with self._translated():
            return [found["path"] for part in self._store.list(prefix or None) for found in part]

    def _numbers(self) -> list[int]:
        names = [name.removeprefix(f"{MANIFESTS}/") for name in self._names(f"{MANIFESTS}/")]
        return [int(name.removesuffix(".json")) for name in names if name.endswith(".json")]

    def _fenced(self) -> FencedError:
        return FencedError("another publisher has the sink", f"it has made the next manifest of {self.where}")

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (raised.PermissionDeniedError, raised.UnauthenticatedError) as error:
            raise TargetRefusesError(f"{self.where} refuses", _said(error), "see ACCESS_KEY and SECRET_KEY of the "
                                     "connection, and what they may do") from None
        except UNUSABLE as error:
            raise TargetRefusesError(f"{self.where} cannot be used", _said(error), "see the connection") from None
        except (raised.BaseError, OSError) as error:
            if "NoSuchBucket" in str(error):
                raise TargetRefusesError(f"{self.where} has no bucket", _said(error), "make the bucket first") from None
            raise TargetAwayError(f"{self.where} does not answer", _said(error)) from None


def _said(error: Exception) -> str:
    """What the store says, in one line."""
    return " ".join(NOISE.sub("", str(error)).split())[:300]
