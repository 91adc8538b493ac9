"""TLS of the API: whom clients believe, what they say of others, and files that are refused before anything starts."""

from __future__ import annotations

import datetime
import os
import threading
import time
from pathlib import Path

import pytest
import trustme
import uvicorn
from fastapi import FastAPI

from api.cli.client import Client
from api.cli.commands.status import collect
from api.cli.program import main
from api.instance import runfile
from api.instance.runfile import Process, Run
from api.instance.server import api_url
from api.instance.up import Supervisor
from api.tls import Trust, certificate_name
from mars.config import load
from mars.errors import ConfigurationError, MarsError, NotReadyError

PASSWORD_KEY = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB\n-----END ENCRYPTED PRIVATE KEY-----\n"


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    """One that nobody trusts by default."""
    return trustme.CA()


def issue(authority: trustme.CA, folder: Path, *names: str, **options) -> tuple[str, str]:
    """Files of a certificate chain and its key."""
    issued = authority.issue_cert(*names, **options)
    folder.mkdir(exist_ok=True)
    (folder / "chain.pem").write_bytes(b"".join(pem.bytes() for pem in issued.cert_chain_pems) + authority.cert_pem.bytes())
    issued.private_key_pem.write_to_path(folder / "key.pem")
    return str(folder / "chain.pem"), str(folder / "key.pem")


@pytest.fixture(scope="module")
def serve():
    """Starts a small API in a thread; gives its port."""
    servers = []

    def start(certificate: str | None = None, key: str | None = None) -> int:
        app = FastAPI()
        app.get("/v1/queries")(lambda: {"queries": ["q"]})
        app.get("/readyz")(lambda: {"status": "ready"})
        app.post("/v1/sql")(lambda: {"kind": "rows", "columns": [{"name": "n", "type": "INT"}], "rows": [[7]]})
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, ssl_certfile=certificate, ssl_keyfile=key))
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        servers.append((server, thread))
        return server.servers[0].sockets[0].getsockname()[1]

    yield start
    for server, thread in servers:
        server.should_exit = True
        thread.join(10)


@pytest.fixture(scope="module")
def elsewhere(authority, tmp_path_factory, serve) -> tuple[Run, int]:
    """An instance on all addresses whose certificate names another host than the loopback."""
    certificate, key = issue(authority, tmp_path_factory.mktemp("a"), "*.mars.example")
    config = load({"api_tls_certificate": certificate, "api_tls_key": key}, environment={})
    port = serve(certificate, key)
    url = api_url(config.model_copy(update={"api_host": "0.0.0.0", "api_port": port}))
    return Run(Process.of(os.getpid()), runfile.READY, url, certificate, certificate_name(config)), port


def test_an_instance_on_all_addresses_is_called_by_loopback_and_believed_by_its_own_certificate(elsewhere):
    run, port = elsewhere
    assert (run.api, run.api_name) == (f"https://127.0.0.1:{port}", "mars.mars.example")
    with Client.of(run, "") as client:
        assert client.get("/v1/queries") == {"queries": ["q"]}


def test_another_certificate_of_the_same_authority_and_name_is_not_believed(elsewhere, authority, tmp_path):
    run, _ = elsewhere
    certificate, _ = issue(authority, tmp_path, "*.mars.example")
    with Client(run.api, trust=Trust.own(certificate, run.api_name)) as client, \
            pytest.raises(NotReadyError, match="not trusted") as refused:
        client.get("/v1/queries")
    assert "start Mars again" in refused.value.hint


def test_the_host_name_is_verified_too(elsewhere):
    run, _ = elsewhere
    with Client(run.api, trust=Trust.own(run.api_certificate, "")) as client, \
            pytest.raises(NotReadyError, match="for another host name"):
        client.get("/v1/queries")


def test_status_tells_what_the_api_says_and_what_to_do(elsewhere, tmp_path, monkeypatch, authority):
    run, _ = elsewhere
    monkeypatch.setattr("api.cli.commands.status.workers", lambda *_: {})
    run.save(tmp_path)
    assert collect(load({"data": tmp_path}, environment={}))["state"] == "ready"
    certificate, _ = issue(authority, tmp_path / "b", "a.example")
    Run(run.supervisor, run.state, run.api, certificate, run.api_name).save(tmp_path)
    found = collect(load({"data": tmp_path}, environment={}))
    assert (found["state"], "start Mars again" in found["reason"]) == ("degraded", True)


def test_an_api_elsewhere_is_believed_by_the_authority_that_is_given(authority, tmp_path, serve, monkeypatch, capsys):
    url = f"https://127.0.0.1:{serve(*issue(authority, tmp_path, '127.0.0.1'))}"
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    with pytest.raises(SystemExit):
        main(["sql", "--api", url, "-c", "SHOW STREAMS"])
    said = capsys.readouterr().err
    assert "not trusted" in said
    assert "--ca FILE" in said
    main(["sql", "--api", url, "--ca", str(tmp_path / "ca.pem"), "-c", "SHOW STREAMS"])
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    main(["sql", "--api", url, "-c", "SHOW STREAMS"])
    assert capsys.readouterr().out == "n\n7\nn\n7\n"
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    with pytest.raises(MarsError, match="SSL_CERT_FILE"):
        Client(url)


def test_the_wrong_scheme_is_told(elsewhere, serve):
    for url, word in ((f"http://127.0.0.1:{elsewhere[1]}", "https://"), (f"https://127.0.0.1:{serve()}", "http://")):
        with Client(url) as client, pytest.raises(NotReadyError) as refused:
            client.get("/v1/queries")
        assert word in refused.value.hint, url


def spoil(folder: Path, authority: trustme.CA, how: str) -> None:
    """Something that makes the files of a certificate useless."""
    yesterday = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=1)
    {"certificate gone": (folder / "chain.pem").unlink,
     "key gone": (folder / "key.pem").unlink,
     "no certificate": lambda: (folder / "chain.pem").write_text("nothing"),
     "another key": lambda: authority.issue_cert("h").private_key_pem.write_to_path(folder / "key.pem"),
     "a password": lambda: (folder / "key.pem").write_text(PASSWORD_KEY),
     "expired": lambda: issue(authority, folder, "h", not_after=yesterday)}[how]()


@pytest.mark.parametrize(("how", "setting"), [
    ("certificate gone", "api_tls_certificate"), ("no certificate", "api_tls_certificate"),
    ("expired", "api_tls_certificate"), ("key gone", "api_tls_key"), ("another key", "api_tls_key"),
    ("a password", "api_tls_key")])
def test_files_that_cannot_be_used_are_named(authority, tmp_path, how, setting):
    certificate, key = issue(authority, tmp_path, "h")
    spoil(tmp_path, authority, how)
    file = key if setting == "api_tls_key" else certificate
    with pytest.raises(ConfigurationError) as refused:
        certificate_name(load({"api_tls_certificate": certificate, "api_tls_key": key}, environment={}))
    assert refused.value.title == f"{setting} = {file} cannot be used"
    assert refused.value.detail
    assert refused.value.hint


def test_they_are_looked_at_before_anything_starts(tmp_path):
    settings = {"data": tmp_path, "api_tls_certificate": "none.pem", "api_tls_key": "none.pem"}
    supervisor = Supervisor(load(settings, environment={}), lambda *_: None)
    with pytest.raises(ConfigurationError, match="api_tls_certificate"):
        supervisor.start()
    assert (supervisor.server, supervisor.services, list(tmp_path.iterdir())) == (None, [], [])


def test_a_relative_path_means_the_folder_of_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match=str(tmp_path)):
        certificate_name(load({"api_tls_certificate": "c.pem", "api_tls_key": "k.pem"}, environment={}))
