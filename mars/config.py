"""The one configuration: where each setting comes from, what it may be, and what it means.

A setting is taken from the command line, else from the environment (`MARS_` and its name in capitals), else
from the TOML file, else from its default. A `Config` never changes and is the same in every process: it
travels to Spark tasks as JSON and reads nothing there.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from mars.config_checks import contradictions
from mars.errors import ConfigurationError

PREFIX = "MARS_"
MIB = 1024 * 1024
_ADDRESS = r"^$|^[^\s,:/]+:\d{1,5}$"
_ADDRESSES = r"^$|^[^\s,:/]+:\d{1,5}(,[^\s,:/]+:\d{1,5})*$"


class Config(BaseModel):
    """Every setting, with its unit last in its name. See `load` for how one is made."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    # Where this instance lives, and what it attaches to.
    data: Path = Field(Path("~/.local/share/mars"), description="Folder that holds and names the instance.")
    kafka_address: str = Field("", pattern=_ADDRESSES, description=(
        "Kafka to attach to, host:port[,host:port]. Empty: Mars starts its own on this machine."))
    redis_address: str = Field("", pattern=_ADDRESS, description=(
        "Redis to attach to, one host:port. Empty: Mars starts its own."))
    zookeeper_address: str = Field("", pattern=_ADDRESSES, description=(
        "ZooKeeper to attach to, host:port[,host:port]. Empty: Mars starts its own."))
    spark_master: str = Field("", pattern=r"^$|^(local\[|spark://|k8s://|yarn$)", description=(
        "Spark master that runs the workers. Empty: this machine, local[mappers + reducers + 2]."))
    state_uri: str = Field("", pattern=r"^$|^file:///", description=(
        "file:// URI of the folder for state and results, seen by all workers. Empty: in the data folder."))

    # How many workers, and how the work is cut.
    mappers: int = Field(2, ge=1, le=1024, description="Mapper workers, each one long Spark task.")
    reducers: int = Field(2, ge=1, le=1024, description="Reducer workers, each one long Spark task.")
    key_parts: int = Field(2, ge=1, le=256, description=(
        "Parts that the keys of a stream are divided into; frozen when the stream is created."))
    reader: Literal["raw", "confluent"] = Field("raw", description=(
        "How topics are read: raw record batches, or the slower second reader on confluent-kafka."))

    # How Kafka is spoken to.
    kafka_security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = Field("PLAINTEXT", description=(
        "How the Kafka at kafka_address is spoken to, in Kafka's words; SSL means TLS."))
    kafka_tls_ca: str = Field("", description=(
        "PEM file of the authorities whose certificates brokers may have. Empty: those that the system trusts."))
    kafka_tls_certificate: str = Field("", description="PEM file of our own certificate chain, if brokers ask for one.")
    kafka_tls_key: str = Field("", description="PEM file of that certificate's key, without a password.")
    kafka_sasl_mechanism: Literal["", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = Field("", description=(
        "How the password is proven to brokers, with a protocol of SASL."))
    kafka_sasl_username: str = Field("", description="Kafka's name for this instance, with a protocol of SASL.")
    kafka_sasl_password: str = Field("", repr=False, description="The password of that name.")

    # Mappers.
    batch_tuples: int = Field(5_000, ge=1, le=1_000_000, description="Tuples in one batch, aimed at.")
    run_tuples_max: int = Field(100_000, ge=1, le=10_000_000, description=(
        "Most tuples in a run of adjacent batches that one claim takes under backlog."))
    run_bytes_max: int = Field(16 * MIB, ge=64 * 1024, le=1024 * MIB, description=(
        "Most bytes of one such run, as they lie in Kafka."))
    claim_ahead_tuples: int = Field(4_000_000, ge=1_000, description=(
        "How far claims of one partition may run ahead of the committed position."))
    lease_ms: int = Field(10_000, ge=500, le=600_000, description=(
        "How long a claim is held without renewal before another mapper gets it."))
    future_limit_ms: int = Field(300_000, ge=0, description=(
        "Tuples whose event time lies further ahead of the clock are counted, not aggregated."))

    dead_letter_bytes_max: int = Field(256 * MIB, ge=0, description=(
        "Bytes of dead letters kept for each stream; the oldest go first. 0: none are kept."))

    # Reducers.
    commit_interval_ms: int = Field(200, ge=50, le=60_000, description=(
        "Longest pause between two commits of a key part that has something to commit; cheap ones follow sooner."))
    zookeeper_session_ms: int = Field(6_000, ge=1_000, le=60_000, description=(
        "ZooKeeper's session time-out: how long a silent worker keeps its work."))
    query_groups_max: int = Field(5_000_000, ge=1, description=(
        "Most groups that a query may have in the open windows of a key part."))
    # No dictionary of texts holds 2 GiB, and what came since the last commit is not counted yet.
    query_state_bytes_max: int = Field(512 * MIB, ge=1024, le=1536 * MIB, description=(
        "Most bytes of cells that a query may have in the open windows of a key part."))
    query_cells_bytes_max: int = Field(64 * MIB, ge=1024, le=512 * MIB, description=(
        "Most bytes of cells that a query may make of one run of tuples; never more than a quarter of Redis's limit."))
    result_retention_days: int = Field(7, ge=1, le=3_650, description="How long closed windows can be read.")

    # The API.
    api_host: str = Field("127.0.0.1", min_length=1, description="Address that the API listens on.")
    api_port: int = Field(0, ge=0, le=65_535, description="The API's port. 0: 8642 if free, else another.")
    api_token: str = Field("", repr=False, pattern=r"^$|^\S{16,}$", description=(
        "Bearer token that the API asks for, at least 16 characters; must be given off loopback."))
    api_tls_certificate: str = Field("", description="PEM file of the API's certificate chain.")
    api_tls_key: str = Field("", description="PEM file of the certificate's key.")
    api_behind_tls: bool = Field(False, description=(
        "True if TLS ends before the API (a proxy), or if its port is published on loopback only."))

    # The processes that Mars starts itself.
    java_home: str = Field("", description=(
        "Folder of the Java to use, 17 or newer. Empty: JAVA_HOME, else the PATH's, else a packaged one."))
    maven_url: str = Field("", pattern=r"^$|^(https?|file)://", description=(
        "Maven repository that has Kafka's jars, or a mirror. Empty: the one that Spark's Ivy knows."))
    kafka_heap_mb: int = Field(512, ge=128, le=65_536, description="Heap of our own Kafka.")
    zookeeper_heap_mb: int = Field(128, ge=64, le=65_536, description="Heap of our own ZooKeeper.")
    redis_memory_bytes_max: int = Field(1024 * MIB, ge=16 * MIB, description=(
        "Memory limit of our own Redis; claims stop at 70 % of it."))
    spark_driver_memory_mb: int = Field(1024, ge=512, le=65_536, description="Heap of Spark's driver.")
    spark_ui: bool = Field(False, description="Whether Spark serves its own web pages.")

    # Tests only.
    fault_folder: str = Field("", description=(
        "Tests only: folder in which a file named like a crash point ends the next process that reaches it."))

    @field_validator("data", mode="before")
    @classmethod
    def _named(cls, data: object) -> object:
        if data == "":
            raise ValueError("it must name a folder")  # pathlib takes it for the current one
        return data

    @field_validator("data")
    @classmethod
    def _absolute(cls, data: Path) -> Path:
        return data.expanduser().absolute()

    @field_validator("api_tls_certificate", "api_tls_key", "kafka_tls_ca", "kafka_tls_certificate", "kafka_tls_key")
    @classmethod
    def _absolute_file(cls, file: str) -> str:
        return file and str(Path(file).expanduser().absolute())  # server and workers run in folders of their own

    @model_validator(mode="after")
    def _consistent(self) -> Config:
        for fault in contradictions(self):
            raise ValueError(fault)
        return self

    @property
    def spark_master_url(self) -> str:
        """The master, computed if none is given: long tasks hold their slots, and two are for short jobs."""
        return self.spark_master or f"local[{self.mappers + self.reducers + 2}]"

    @property
    def state_root(self) -> str:
        """The URI of the folder for committed state and results, without a slash at its end."""
        return (self.state_uri or (self.data / "state").as_uri()).rstrip("/")

    def to_json(self) -> str:
        """All settings, defaults included; `from_json` gives an equal `Config` back, in any process."""
        return self.model_dump_json()

    @classmethod
    def from_json(cls, text: str) -> Config:
        """The `Config` that `to_json` wrote. Looks at no file and no environment."""
        return cls.model_validate_json(text)


def load(flags: Mapping[str, Any] | None = None, file: Path | None = None,
         environment: Mapping[str, str] | None = None) -> Config:
    """The configuration of this command. `flags` holds settings by name, None meaning not given;
    `environment` is `os.environ` unless given.

    Raises ConfigurationError, in one line: the setting, its value, where it came from, what is allowed.
    """
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    layers = [
        (f"the file {file}", _read_file(file) if file else {}),
        ("the environment", _read_environment(os.environ if environment is None else environment)),
        ("the command line", {name: value for name, value in (flags or {}).items() if value is not None}),
    ]
    for origin, layer in layers:
        for name, value in layer.items():
            if name not in Config.model_fields:
                raise ConfigurationError(f"{name} in {origin} is no setting", _did_you_mean(name))
            values[name] = value
            origins[name] = f"{PREFIX}{name.upper()}" if origin == "the environment" else origin
    try:
        return Config(**values)
    except ValidationError as error:
        raise _explain(error, origins) from None


def _read_file(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"The configuration file {file} cannot be read", str(error)) from None


def _read_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The settings in an environment, of which an empty one counts as not given. Others may use our prefix, so only what
    looks misspelt is refused."""
    settings: dict[str, str] = {}
    for key, value in environment.items():
        name = key.removeprefix(PREFIX).lower()
        if not key.startswith(PREFIX) or not value:
            continue
        if name in Config.model_fields or _closest(name):
            settings[name] = value
    return settings


def _closest(name: str) -> str:
    return next(iter(difflib.get_close_matches(name, Config.model_fields, n=1, cutoff=0.8)), "")


def _did_you_mean(name: str) -> str:
    closest = _closest(name)
    return f"did you mean {closest}?" if closest else f"settings are {', '.join(Config.model_fields)}"


def _explain(error: ValidationError, origins: Mapping[str, str]) -> ConfigurationError:
    """The first fault as one line; one at a time is enough to mend."""
    fault = error.errors()[0]
    said = fault["msg"].removeprefix("Value error, ")
    if not fault["loc"]:
        used = sorted({origin for name, origin in origins.items() if name in said})
        return ConfigurationError("Settings contradict each other", f"{said} (from {', '.join(used)})")
    name = str(fault["loc"][0])
    allowed = said[0].lower() + said[1:]
    if fault["type"] == "string_pattern_mismatch":
        allowed = Config.model_fields[name].description or allowed
    value = repr(fault["input"]) if Config.model_fields[name].repr else "the value"
    return ConfigurationError(f"{name} = {value} from {origins[name]} is not allowed", allowed)
