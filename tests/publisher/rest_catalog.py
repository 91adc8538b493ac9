"""A REST catalog of Iceberg in this process: what pyiceberg's own client asks of one, over a catalog in SQLite."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException, NoSuchNamespaceError, NoSuchTableError
from pyiceberg.schema import Schema
from pyiceberg.table import CommitTableRequest, Table

CODES = {NoSuchTableError: 404, NoSuchNamespaceError: 404, CommitFailedException: 409}


class RestCatalogServer:
    """Answers under `uri` whoever has the token; with `code`, if it is not 0, instead: before a commit is made, or, if
    `is_late`, after it."""

    def __init__(self, folder: Path, token: str) -> None:
        self.catalog = SqlCatalog("default", uri=f"sqlite:///{folder}/rest.db?check_same_thread=False",
                                  warehouse=str(folder / "warehouse"))
        self.token, self.code, self.is_late = token, 0, False
        self.lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"] or 0))
                with server.lock:
                    code, document = server.answer(self.command, self.path, self.headers["authorization"], body)
                data = b"" if document is None else json.dumps(document).encode()
                self.send_response(code)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data if self.command != "HEAD" else b"")

            def do_GET(self) -> None:
                self.handle_any()

            def do_POST(self) -> None:
                self.handle_any()

            def do_HEAD(self) -> None:
                self.handle_any()

            def log_message(self, *_: object) -> None:
                """Says nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.uri = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def answer(self, method: str, path: str, authorization: str | None, body: bytes) -> tuple[int, Any]:
        """The code and the document of an answer."""
        if authorization != f"Bearer {self.token}":
            return 401, _error(401, "who are you?")
        parts = path.partition("?")[0].strip("/").split("/")[1:]  # behind v1
        if self.code and not (self.is_late and method == "POST"):
            return self.code, _error(self.code, "not now")
        try:
            found = self._done(method, parts, body)
        except tuple(CODES) as error:
            return CODES[type(error)], _error(CODES[type(error)], str(error))
        return (self.code, _error(self.code, "it was done, but")) if self.code else (200, found)

    def close(self) -> None:
        """Stop it."""
        self.server.shutdown()
        self.server.server_close()
        self.catalog.close()

    def _done(self, method: str, parts: list[str], body: bytes) -> Any:
        match method, parts:
            case _, ["config"]:
                return {"defaults": {}, "overrides": {}}
            case "POST", ["namespaces"]:
                self.catalog.create_namespace_if_not_exists(tuple(json.loads(body)["namespace"]))
                return {"namespace": json.loads(body)["namespace"]}
            case _, ["namespaces", namespace]:
                return {"namespace": [namespace], "properties": self.catalog.load_namespace_properties(namespace)}
            case "POST", ["namespaces", namespace, "tables"]:
                asked = json.loads(body)
                schema = Schema.model_validate(asked["schema"])
                return _table(self.catalog.create_table((namespace, asked["name"]), schema, properties=asked["properties"]))
            case "POST", ["namespaces", namespace, "tables", name]:
                change = CommitTableRequest.model_validate_json(body)
                self.catalog.commit_table(self.catalog.load_table((namespace, name)), change.requirements, change.updates)
        return _table(self.catalog.load_table((parts[1], parts[3])))


def _table(table: Table) -> dict:
    metadata = json.loads(table.metadata.model_dump_json())
    return {"metadata-location": table.metadata_location, "metadata": metadata, "config": {}}


def _error(code: int, message: str) -> dict:
    return {"error": {"message": message, "type": "Error", "code": code}}
