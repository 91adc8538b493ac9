"""A table of an Iceberg catalog through pyiceberg, and its errors in our words.

pyiceberg takes some 50 MB and two seconds to import. Whoever has no sink there never imports this module.

Rows come by one commit each, which is refused unless the table is still as it was read: pyiceberg by itself would put the
rows of a stale owner behind those of a newer one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg import exceptions as raised
from pyiceberg.catalog import MetastoreCatalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from requests import PreparedRequest, RequestException, Response, Session
from requests.adapters import HTTPAdapter
from sqlalchemy.exc import SQLAlchemyError

from mars.adapters.published_folder import REFUSED as REFUSED_CODES
from mars.adapters.target_errors import TargetAwayError, TargetRefusesError
from mars.model.connections import Connection
from mars.settings_checks import is_loopback

TIMEOUT_S = 20.0
CALENDAR_US = (-62_135_596_800_000_000, 253_402_300_800_000_000)  # the years 1 to 9999
NO_RETRY = {"commit.retry.num-retries": "0"}  # of a commit whose table has changed
# Of tables that Mars makes: without these every commit leaves a manifest and a file of metadata for ever.
MADE_WITH = {"commit.manifest-merge.enabled": "true", "write.metadata.delete-after-commit.enabled": "true",
             "write.metadata.previous-versions-max": "100"}
AWAY = (raised.ServiceUnavailableError, raised.ServerError, raised.TooManyRequestsError, raised.CommitStateUnknownException,
        raised.AuthorizationExpiredError, raised.WaitingForLockException, RequestException)
REFUSED = (raised.RESTError, raised.NoSuchNamespaceError, raised.NoSuchPropertyException, raised.ValidationError,
           raised.SignError, raised.NotInstalledError, ValueError)
# What a store that speaks S3 says, in the text of an OSError, that does not pass by waiting.
REFUSED_WORDS = ("ACCESS_DENIED", "INVALID_ACCESS_KEY_ID", "SIGNATURE_DOES_NOT_MATCH", "NO_SUCH_BUCKET")
S3_OPTIONS = {"ENDPOINT": "s3.endpoint", "REGION": "s3.region", "ACCESS_KEY": "s3.access-key-id"}
GONE = (raised.NoSuchTableError, raised.NoSuchIdentifierError)


class OvertakenError(TargetAwayError):
    """Somebody else has changed the table since it was loaded: nothing was written."""


class _Rest(RestCatalog):
    """Waits for an answer no longer than TIMEOUT_S."""

    def _create_session(self) -> Session:
        session = super()._create_session()
        for scheme in ("http://", "https://"):
            session.mount(scheme, _Patience())
        return session


class _Patience(HTTPAdapter):
    def send(self, request: PreparedRequest, stream: bool = False, timeout: Any = None, verify: Any = True, cert: Any = None,
             proxies: Any = None) -> Response:
        return super().send(request, stream, timeout or TIMEOUT_S, verify, cert, proxies)


class LakeTable:
    """One table by its name, `namespace.table`. TargetAwayError and TargetRefusesError for what catalog and files say.
    `table` is the table as it was last loaded; None before."""

    def __init__(self, connection: Connection, secret: Callable[[str], str], name: str) -> None:
        self.where = f"the catalog of {connection.name}"
        namespace, _, table = name.rpartition(".")
        if not all(part for part in (*namespace.split("."), table)):
            raise TargetRefusesError("this is no table", repr(name), "write TABLE 'namespace.table'")
        self.namespace, self.name = tuple(namespace.split(".")), name
        self.table: Table | None = None
        with self._translated():
            self._catalog = _catalog(connection, secret)

    def load(self) -> bool:
        """Read the table as it is now; False if it is not there."""
        with self._translated():
            try:
                self.table = self._catalog.load_table((*self.namespace, self.name.rpartition(".")[2]))
            except (*GONE, raised.NoSuchNamespaceError):
                self.table = None
            return self.table is not None

    def make(self, schema: Schema) -> None:
        """Make it, and its namespace if that is missing; somebody else's table of the name is taken if it came first."""
        with self._translated():
            self._catalog.create_namespace_if_not_exists(self.namespace)
            self.table = self._catalog.create_table_if_not_exists(
                (*self.namespace, self.name.rpartition(".")[2]), schema, properties=MADE_WITH)

    def fields(self, columns: list[str]) -> pa.Schema:
        """What rows of those columns are written as."""
        assert self.table is not None
        return self.table.schema().select(*columns).as_arrow()

    def note(self, key: str) -> str | None:
        """What the newest snapshot that has the key says, along the history of what readers see. Once snapshots have
        expired: what the table says."""
        assert self.table is not None
        known = {snapshot.snapshot_id: snapshot for snapshot in self.table.metadata.snapshots}
        snapshot = self.table.current_snapshot()
        while snapshot is not None:
            if snapshot.summary is not None and key in snapshot.summary.additional_properties:
                return snapshot.summary[key]
            parent = snapshot.parent_snapshot_id
            snapshot = None if parent is None else known.get(parent)
        return self.table.properties.get(key)

    def append(self, rows: pa.Table, notes: dict[str, str], staged: Callable[[], None]) -> None:
        """Add rows and notes by one snapshot of the table as it was loaded; without rows the snapshot has only the notes.
        `staged` is called once the rows are in files, which nobody reads yet. OvertakenError if the table was changed."""
        assert self.table is not None
        with self._translated():
            # As this process sees the table, not in the catalog.
            self.table.metadata.properties.update({**NO_RETRY, **_without_bounds(rows)})
            change = self.table.transaction()
            change.append(rows, snapshot_properties=notes)
            change.set_properties(notes)
            staged()
            self.table = change.commit_transaction()

    def close(self) -> None:
        """End the connections."""
        with contextlib.suppress(Exception):
            self._catalog.close()

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except raised.CommitFailedException as error:
            raise OvertakenError(f"table {self.name} was changed", _said(error)) from None
        except GONE as error:
            raise TargetRefusesError(f"table {self.name} is gone", _said(error), "see who has dropped it") from None
        except AWAY as error:
            raise TargetAwayError(f"{self.where} does not answer", _said(error)) from None
        except REFUSED as error:
            raise TargetRefusesError(f"{self.where} refuses", _said(error), "see the options of the connection, its secrets "
                                     "and what its user may do") from None
        except SQLAlchemyError as error:
            raise TargetAwayError(f"{self.where} does not answer", _said(error), "is URI right, and may the user of Mars "
                                  "write there?") from None
        except OSError as error:
            if error.errno in REFUSED_CODES or any(word in str(error) for word in REFUSED_WORDS):
                raise TargetRefusesError("the warehouse refuses files", _said(error), "see the keys of the connection, and "
                                         "who may write to its WAREHOUSE") from None
            raise TargetAwayError("the warehouse does not take files", _said(error)) from None


def _catalog(connection: Connection, secret: Callable[[str], str]) -> MetastoreCatalog | RestCatalog:
    """The catalog of a connection. TargetRefusesError for an address that cannot be one."""
    uri, token = str(connection.option("URI")), connection.secrets.get("TOKEN")
    warehouse, authorities = connection.option("WAREHOUSE"), connection.option("TLS_CA")
    options: dict[str, Any] = {"uri": uri}
    for option, name in S3_OPTIONS.items():  # without a region pyiceberg would ask Amazon for the bucket's
        if (value := connection.option(option)) is not None:
            options[name] = str(value)
    if "SECRET_KEY" in connection.secrets:
        options["s3.secret-access-key"] = secret(connection.secrets["SECRET_KEY"])
    if warehouse is not None:
        options["warehouse"] = str(warehouse)
    if uri.startswith("sqlite:////"):
        if warehouse is None:
            raise TargetRefusesError("WAREHOUSE is missing", "a catalog in SQLite does not say where files go",
                                     "write WAREHOUSE '/data/warehouse' or 's3://bucket/warehouse' among the options")
        return SqlCatalog(str(connection.option("CATALOG")), **options)
    if not uri.startswith(("https://", "http://")):
        raise TargetRefusesError("URI cannot be the catalog's", "it is neither sqlite:////path nor https://",
                                 "write URI 'sqlite:////data/catalog.db', or the address of a REST catalog")
    if urlsplit(uri).username is not None:
        raise TargetRefusesError("URI has a user in it", "addresses are shown", "write TOKEN SECRET name among the options")
    if token is not None:
        if uri.startswith("http://") and not is_loopback(urlsplit(uri).hostname or ""):
            raise TargetRefusesError("the token would go over the network in the clear", "URI begins with http://",
                                     "write an address with https://")
        options["token"] = secret(token)
    if authorities is not None:
        options["ssl"] = {"cabundle": str(authorities)}
    return _Rest(str(connection.option("CATALOG")), **options)


def _without_bounds(rows: pa.Table) -> dict[str, str]:
    """Settings by which no least and greatest value is noted of columns with times that Python's calendar has not: pyiceberg
    breaks on them."""
    found = {}
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
            bounds = pc.min_max(column.cast(pa.timestamp("us"))).cast(pa.struct([("min", pa.int64()), ("max", pa.int64())]))
            least, greatest = bounds["min"].as_py(), bounds["max"].as_py()
            if least is not None and not (CALENDAR_US[0] <= least and greatest < CALENDAR_US[1]):
                found[f"write.metadata.metrics.column.{name}"] = "counts"
    return found


def _said(error: Exception) -> str:
    """What a library says, in one line."""
    cause = getattr(error, "orig", None) or error
    return " ".join(str(cause).split())[:400] or type(error).__name__
