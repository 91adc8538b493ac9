"""Pages of other websites: what a browser sends for them changes nothing, and no name of theirs leads here."""

from __future__ import annotations

import pytest
import trustme

from mars.config import load
from mars.errors import ConfigurationError

pytestmark = pytest.mark.services
PROBLEM = "application/problem+json"
TOKEN = "0123456789abcdef"
OPEN = {"api_host": "0.0.0.0", "api_token": TOKEN, "api_behind_tls": True}
BEARER = {"Authorization": f"Bearer {TOKEN}"}


def refused(answer, status: int) -> dict:
    """The problem that an answer is."""
    assert (answer.status_code, answer.headers["content-type"]) == (status, PROBLEM), answer.text
    return answer.json()


@pytest.fixture
def query(new_query) -> str:
    return new_query().query.name


@pytest.mark.parametrize("foreign", [
    {"Origin": "https://evil.example"}, {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": "Cross-Site"},
    {"Origin": "null"}, {"Origin": ""}, {"Origin": "http://localhost:3000"}, {"Origin": "https://localhost"},
    {"Origin": "http://localhost.evil.example"}, {"Origin": "http://localhost@evil.example"},
    {"Origin": "http://localhost/", "Sec-Fetch-Site": "same-origin"}, {"Origin": "http://127.0.0.1"}])
def test_a_foreign_page_cannot_change_a_query(client, query, foreign):
    for method, path in (("POST", f"/v1/queries/{query}/pause"), ("DELETE", f"/v1/queries/{query}"),
                         ("POST", "/v1/sql"), ("POST", "/v1/queries"), ("OPTIONS", f"/v1/queries/{query}")):
        document = refused(client.request(method, path, headers=foreign), 403)
        assert document["type"] == "urn:mars:problem:foreign-page"
        assert "api_allowed_hosts" in document["hint"]
    assert client.get(f"/v1/queries/{query}").json()["state"] == "RUNNING"


@pytest.mark.parametrize("own", [
    {}, {"Origin": "http://localhost"}, {"Origin": "http://LOCALHOST:80", "Sec-Fetch-Site": "same-origin"},
    {"Sec-Fetch-Site": "none"}])
def test_programs_and_our_own_pages_change_what_they_want(client, query, own):
    assert client.post(f"/v1/queries/{query}/pause", headers=own).json()["state"] == "PAUSED"


def test_a_foreign_page_may_lead_to_ours(client):
    """As by a link; it cannot read what comes."""
    answer = client.get("/docs", headers={"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"})
    assert answer.status_code == 200
    assert not [name for name in answer.headers if name.startswith("access-control-")]


@pytest.mark.parametrize("host", [
    "evil.example", "evil.example:8642", "localhost.evil.example", "127.0.0.1.evil.example:8642", "localhost@evil.example",
    "evil.example#localhost", "mars", "10.0.0.1", "[2001:db8::1]:8642", "", ":8642", "localhost:port", "localhost:8642:1",
    "[::1", "::1", "local host", "localhost, evil.example", ".localhost.", "*", "evil.example\x00.localhost",
    "évil.localhost"])
def test_no_other_name_leads_here(client, query, host):
    headers = {"Host": host.encode("latin-1"), "Origin": f"http://{host}".encode("latin-1"), "Sec-Fetch-Site": "same-origin"}
    for method, path in (("GET", f"/v1/queries/{query}"), ("POST", f"/v1/queries/{query}/pause"), ("GET", "/healthz"),
                         ("GET", "/docs")):
        document = refused(client.request(method, path, headers=headers), 421)
        assert document["type"] == "urn:mars:problem:host"
    assert client.get(f"/v1/queries/{query}").json()["state"] == "RUNNING"


def test_the_refusal_says_what_to_set(client):
    document = refused(client.get("/", headers={"Host": "mars.example:8642"}), 421)
    assert "mars.example:8642" in document["detail"]
    assert "MARS_API_ALLOWED_HOSTS" in document["hint"]


def test_two_hosts_are_none(client):
    headers = [("Host", "localhost"), ("Host", "evil.example")]
    assert "Host" in refused(client.get("/", headers=headers), 421)["title"]


@pytest.mark.parametrize("host", [
    "localhost", "LocalHost:8642", "localhost.", "mars.localhost:1", "127.0.0.1", "127.0.0.1:8642", "127.1.2.3",
    "[::1]:8642", "[0:0:0:0:0:0:0:1]", "0.0.0.0:8642"])
def test_loopback_has_many_names(client, host):
    assert client.get("/healthz", headers={"Host": host}).status_code == 200
    assert refused(client.post("/v1/queries/none/pause", headers={"Host": host, "Origin": f"http://{host}"}), 404)


def test_where_others_reach_the_api_an_address_is_a_name_of_it(client_with):
    client = client_with(**OPEN)
    for host in ("192.168.7.5:8642", "[2001:db8::1]:8642", "localhost", "0.0.0.0"):
        assert client.get("/v1/queries", headers={"Host": host, **BEARER}).status_code == 200
    assert refused(client.get("/v1/queries", headers={"Host": "mars.example", **BEARER}), 421)


def test_its_own_name_is_one(client_with):
    client = client_with(**{**OPEN, "api_host": "Mars.Example"})
    assert client.get("/healthz", headers={"Host": "mars.example:8642"}).status_code == 200
    assert refused(client.get("/healthz", headers={"Host": "other.example"}), 421)


def test_names_can_be_allowed(client_with):
    client = client_with(api_allowed_hosts="mars,*.Mars.example,[2001:DB8::1]")
    for host, status in {"mars:8642": 200, "a.mars.example": 200, "[2001:db8:0::1]:80": 200, "mars.example": 421,
                         "a.b.mars.example": 421, "xmars.example": 421}.items():
        assert client.get("/healthz", headers={"Host": host}).status_code == status, host


@pytest.mark.parametrize("hosts", ["*", "a,", "a b", "http://a", "a:80", "a,*", "a.*", "2001:db8::1"])
def test_what_would_allow_nothing_or_everything_is_refused(hosts):
    with pytest.raises(ConfigurationError, match="api_allowed_hosts"):
        load({"api_allowed_hosts": hosts}, environment={})


def test_names_in_the_certificate_are_its_names(client_with, tmp_path):
    issued = trustme.CA().issue_cert("mars.example", "*.in.example", "192.168.7.5")
    issued.cert_chain_pems[0].write_to_path(tmp_path / "chain.pem")
    issued.private_key_pem.write_to_path(tmp_path / "key.pem")
    client = client_with(api_tls_certificate=str(tmp_path / "chain.pem"), api_tls_key=str(tmp_path / "key.pem"))
    for host, status in {"mars.example:8642": 200, "a.in.example": 200, "192.168.7.5": 200, "evil.example": 421}.items():
        assert client.get("/healthz", headers={"Host": host}).status_code == status, host
    for origin, status in {"https://mars.example": 404, "https://mars.example:443": 404, "http://mars.example": 403}.items():
        answer = client.post("/v1/queries/none/pause", headers={"Host": "mars.example", "Origin": origin})
        assert answer.status_code == status, origin


def test_before_a_proxy_either_scheme_is_ours_and_what_it_forwards_is_not_believed(client_with):
    proxied = client_with(**OPEN, api_allowed_hosts="mars.example")
    headers = {"Host": "mars.example", **BEARER}
    for origin, status in {"https://mars.example": 404, "http://mars.example": 404, "https://evil.example": 403}.items():
        answer = proxied.post("/v1/queries/none/pause", headers={**headers, "Origin": origin})
        assert answer.status_code == status, origin
    forwarded = {"X-Forwarded-Host": "localhost", "X-Forwarded-Proto": "https", "Forwarded": "host=localhost"}
    assert refused(proxied.get("/", headers={"Host": "evil.example", **forwarded, **BEARER}), 421)
    alone = client_with()
    assert refused(alone.post("/v1/queries/none/pause", headers={"Origin": "https://localhost", **forwarded}), 403)
