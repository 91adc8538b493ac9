"""Settings: which source wins, what is refused and in which words, and the way to a task and back."""

from __future__ import annotations

from pathlib import Path

import pytest

from mars.config import Config, load
from mars.errors import ConfigurationError


def test_every_setting_is_described() -> None:
    assert [name for name, field in Config.model_fields.items() if not field.description] == []


def test_flags_beat_environment_beats_file_beats_default(tmp_path: Path) -> None:
    file = tmp_path / "mars.toml"
    file.write_text("mappers = 3\nreducers = 3\nlease_ms = 3000\n")
    environment = {"MARS_MAPPERS": "4", "MARS_REDUCERS": "4", "HOME": "x"}
    config = load({"mappers": 5, "lease_ms": None}, file, environment)
    assert (config.mappers, config.reducers, config.lease_ms, config.key_parts) == (5, 4, 3000, 2)


def test_a_config_travels_as_json() -> None:
    config = load({"mappers": 7, "api_token": "0123456789abcdef"}, environment={})
    assert Config.from_json(config.to_json()) == config


def test_json_is_read_without_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    text = load(environment={}).to_json()
    monkeypatch.setenv("MARS_MAPPERS", "9")
    assert Config.from_json(text).mappers == 2


def test_long_tasks_leave_two_slots_free() -> None:
    assert load({"mappers": 3, "reducers": 4, "publishers": 5}, environment={}).spark_master_url == "local[14]"


def test_state_lies_under_the_data_folder_unless_said(tmp_path: Path) -> None:
    assert load({"data": tmp_path}, environment={}).state_root == f"file://{tmp_path}/state"
    assert load({"state_uri": "file:///shared/"}, environment={}).state_root == "file:///shared"


@pytest.mark.parametrize(("environment", "words"), [
    ({"MARS_LEASE_MS": "fast"}, ["lease_ms = 'fast'", "MARS_LEASE_MS", "integer"]),
    ({"MARS_LEASE_MS": "1"}, ["lease_ms = '1'", "greater than or equal to 500"]),
    ({"MARS_QUERY_STATE_BYTES_MAX": str(1536 * 2**20 + 1)}, ["query_state_bytes_max", "less than or equal to 1610612736"]),
    ({"MARS_LEASE_SM": "1000"}, ["lease_sm", "did you mean lease_ms"]),
    ({"MARS_KAFKA_SECURITY_PROTOCOL": "fast"}, ["kafka_security_protocol = 'fast'", "'SASL_PLAINTEXT' or 'SASL_SSL'"]),
    ({"MARS_KAFKA_ADDRESS": "here"}, ["kafka_address = 'here'", "host:port"]),
    ({"MARS_REDIS_ADDRESS": "a:6379,b:6379"}, ["redis_address = 'a:6379,b:6379'", "one host:port"]),
    ({"MARS_API_TOKEN": "secret"}, ["api_token = the value", "16 characters"]),
    ({"MARS_API_HOST": "0.0.0.0"}, ["api_host", "api_token"]),
    ({"MARS_API_HOST": "0.0.0.0", "MARS_API_TOKEN": "x" * 16}, ["api_tls_certificate", "MARS_API_HOST"]),
    ({"MARS_RUN_TUPLES_MAX": "10"}, ["run_tuples_max (10)", "batch_tuples (5000)"]),
    ({"MARS_KAFKA_SECURITY_PROTOCOL": "TLS"}, ["kafka_security_protocol = 'TLS'", "'SSL'"]),
    ({"MARS_KAFKA_TLS_CA": "ca.pem"}, ["kafka_tls_ca", "must be SSL", "MARS_KAFKA_TLS_CA"]),
    ({"MARS_KAFKA_SECURITY_PROTOCOL": "SSL", "MARS_KAFKA_TLS_KEY": "k"}, ["kafka_tls_certificate", "together"]),
    ({"MARS_KAFKA_SECURITY_PROTOCOL": "SASL_SSL"}, ["needs kafka_sasl_mechanism", "MARS_KAFKA_SECURITY_PROTOCOL"]),
    ({"MARS_KAFKA_SECURITY_PROTOCOL": "SASL_SSL", "MARS_KAFKA_SASL_MECHANISM": "PLAIN", "MARS_KAFKA_SASL_USERNAME": "u"},
     ["needs kafka_sasl_password"]),
    ({"MARS_KAFKA_SASL_PASSWORD": "0123456789abcdef"}, ["kafka_sasl_password is given", "must be SASL_SSL"]),
    ({"MARS_KAFKA_SASL_MECHANISM": "GSSAPI"}, ["kafka_sasl_mechanism = 'GSSAPI'", "'SCRAM-SHA-512'"]),
])
def test_a_wrong_value_is_one_line_that_names_all(environment: dict[str, str], words: list[str]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load(environment=environment)
    assert "\n" not in str(caught.value)
    assert [word for word in words if word not in str(caught.value)] == []


def test_an_address_of_a_cluster_is_a_list_and_of_redis_is_one() -> None:
    given = {"kafka_address": "a:9092,b:9092", "zookeeper_address": "a:2181,b:2181", "redis_address": "a:6379"}
    assert load(given, environment={}).model_dump(include=set(given)) == given


def test_a_secret_is_not_shown() -> None:
    with pytest.raises(ConfigurationError) as caught:
        load(environment={"MARS_API_TOKEN": "secret"})
    assert "secret" not in str(caught.value)
    password = {"kafka_security_protocol": "SASL_SSL", "kafka_sasl_mechanism": "PLAIN", "kafka_sasl_username": "u",
                "kafka_sasl_password": "0123456789abcdef"}
    for settings in ({"api_token": "0123456789abcdef"}, password):
        assert "0123456789abcdef" not in repr(load(settings, environment={}))
    with pytest.raises(ConfigurationError) as caught:
        load(password | {"kafka_sasl_username": ""}, environment={})
    assert "0123456789abcdef" not in f"{caught.value} {caught.value.hint}"


def test_an_empty_variable_counts_as_not_given() -> None:
    """As scripts and compose files give what is not set."""
    assert load(environment={"MARS_DATA": "", "MARS_MAPPERS": "", "MARS_API_TOKEN": ""}) == load(environment={})


def test_an_empty_folder_is_not_the_current_one() -> None:
    with pytest.raises(ConfigurationError, match="it must name a folder"):
        load({"data": ""}, environment={})


def test_a_variable_of_another_program_is_left_alone() -> None:
    assert load(environment={"MARS_ROVER_WHEELS": "6"}) == load(environment={})


@pytest.mark.parametrize(("text", "words"), [
    ("mappers = ", "cannot be read"),
    ("mapers = 2", "did you mean mappers"),
])
def test_a_wrong_file_is_named(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "mars.toml"
    file.write_text(text)
    with pytest.raises(ConfigurationError, match=words) as caught:
        load(file=file, environment={})
    assert str(file) in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"missing\.toml"):
        load(file=tmp_path / "missing.toml", environment={})
