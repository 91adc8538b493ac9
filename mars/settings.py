"""Every setting: what it may be, what it means, and its default. `config` says where it comes from."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from mars.workers import KINDS, Kind

MIB = 1024 * 1024
_ADDRESS = r"^$|^[^\s,:/]+:\d{1,5}$"
_ADDRESSES = r"^$|^[^\s,:/]+:\d{1,5}(,[^\s,:/]+:\d{1,5})*$"
_HOST = r"((\*\.)?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*|\[[0-9A-Fa-f:.]+\])"


class Settings(BaseModel):
    """Each name has its unit last. Each setting alone is valid; together they may contradict each other."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    # Where this instance lives, and what it attaches to.
    data: Path = Field(Path("~/.local/share/mars"), description="The instance's folder; it also names the instance.")
    kafka_address: str = Field("", pattern=_ADDRESSES, description=(
        "The Kafka to attach to, host:port[,host:port]. Empty: Mars starts its own on this machine."))
    redis_address: str = Field("", pattern=_ADDRESS, description=(
        "The Redis to attach to, one host:port. Empty: Mars starts its own."))
    zookeeper_address: str = Field("", pattern=_ADDRESSES, description=(
        "The ZooKeeper to attach to, host:port[,host:port]. Empty: Mars starts its own."))
    spark_master: str = Field("", pattern=r"^$|^(local\[|spark://|k8s://|yarn$)", description=(
        "Spark master that runs the workers. Empty: this machine, local[the most workers + 2]."))
    state_uri: str = Field("", pattern=r"^$|^file:///", description=(
        "file:// URI of the folder for state and results, seen by all workers. Empty: in the data folder."))

    # How many workers there are, and how the work is divided.
    mappers: int = Field(2, ge=1, le=1024, description="Mapper workers, each one long Spark task.")
    reducers: int = Field(2, ge=1, le=1024, description="Reducer workers, each one long Spark task.")
    mappers_max: int = Field(0, ge=0, le=1024, description=(
        "The most mappers that ALTER WORKERS may ask for; Spark has a slot for each. 0: as many as mappers."))
    reducers_max: int = Field(0, ge=0, le=1024, description=(
        "The most reducers that ALTER WORKERS may ask for; Spark has a slot for each. 0: as many as reducers."))
    publishers: int = Field(1, ge=1, le=64, description=(
        "Publisher workers, each one long Spark task, which deliver to sinks. None runs while there is no sink."))
    key_parts: int = Field(2, ge=1, le=256, description=(
        "Parts that the keys of a stream are divided into; fixed when the stream is created."))

    secret_key_file: str = Field("", description=(
        "File with the key of the secrets, on every host that has publishers. Empty: secret.key in the data folder."))

    webhook_networks: str = Field("", description=(
        "Private networks that webhooks may reach though other machines reach the API (10.0.0.0/8), separated by commas."))

    # How Mars connects to Kafka.
    kafka_security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = Field("PLAINTEXT", description=(
        "The protocol of the listener at kafka_address, by Kafka's name; SSL means TLS."))
    kafka_tls_ca: str = Field("", description=(
        "PEM file of the authorities whose certificates Mars accepts. Empty: those that the system trusts."))
    kafka_tls_certificate: str = Field("", description="PEM file of Mars's own certificate chain, if brokers ask for one.")
    kafka_tls_key: str = Field("", description="PEM file of that certificate's key, without a password.")
    kafka_sasl_mechanism: Literal["", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = Field("", description=(
        "How the password is proven to brokers, with a protocol of SASL."))
    kafka_sasl_username: str = Field("", description="The user name of this instance in Kafka, with a protocol of SASL.")
    kafka_sasl_password: str = Field("", repr=False, description="The password of that user.")

    # Mappers.
    batch_tuples: int = Field(5_000, ge=1, le=1_000_000, description="The number of tuples that a batch aims at.")
    run_tuples_max: int = Field(200_000, ge=1, le=10_000_000, description=(
        "The most tuples that one claim takes under backlog, as a run of adjacent batches."))
    run_bytes_max: int = Field(32 * MIB, ge=64 * 1024, le=1024 * MIB, description=(
        "The most bytes of one such run, as stored in Kafka."))
    claim_ahead_tuples: int = Field(4_000_000, ge=1_000, description=(
        "How far claims of one partition may run ahead of the committed position."))
    lease_ms: int = Field(10_000, ge=500, le=600_000, description=(
        "How long a mapper holds a claim without renewing it, before another mapper gets it."))
    future_limit_ms: int = Field(300_000, ge=0, description=(
        "Tuples whose event time is further ahead of their record's Kafka timestamp are counted, not aggregated."))

    dead_letter_bytes_max: int = Field(256 * MIB, ge=0, description=(
        "The most bytes of dead letters kept for each stream; the oldest go first. 0: none are kept."))

    # Reducers.
    commit_interval_ms: int = Field(200, ge=50, le=60_000, description=(
        "The longest pause between two commits of a key part that has something to commit; cheap ones follow sooner."))
    zookeeper_session_ms: int = Field(6_000, ge=1_000, le=60_000, description=(
        "ZooKeeper's session time-out: how long a silent worker keeps its work."))
    query_groups_max: int = Field(5_000_000, ge=1, description=(
        "The most groups that a query may have in the open windows of a key part."))
    # A dictionary of texts cannot hold 2 GiB, and what came since the last commit is not counted yet: hence the upper bound.
    query_state_bytes_max: int = Field(512 * MIB, ge=1024, le=1536 * MIB, description=(
        "The most bytes of cells that a query may have in the open windows of a key part."))
    query_cells_bytes_max: int = Field(64 * MIB, ge=1024, le=512 * MIB, description=(
        "The most bytes of cells that a query may make from one run; never more than a quarter of Redis's limit."))
    result_retention_days: int = Field(7, ge=1, le=3_650, description="How long closed windows can be read.")

    # The API.
    api_host: str = Field("127.0.0.1", min_length=1, description="The address that the API listens on.")
    api_port: int = Field(0, ge=0, le=65_535, description="The API's port. 0: 8642 if free, else another.")
    api_allowed_hosts: str = Field("", pattern=rf"^$|^{_HOST}(,{_HOST})*$", description=(
        "Other names by which clients may call the API, separated by commas, without ports; *.name is any below it."))
    api_token: str = Field("", repr=False, pattern=r"^$|^\S{16,}$", description=(
        "Bearer token that the API asks for, at least 16 characters; required off loopback."))
    api_tls_certificate: str = Field("", description="PEM file of the API's certificate chain.")
    api_tls_key: str = Field("", description="PEM file of the certificate's key.")
    api_behind_tls: bool = Field(False, description=(
        "True if TLS ends before the API (a proxy), or if its port is published on loopback only."))

    # The processes that Mars starts itself.
    java_home: str = Field("", description=(
        "Folder of the Java to use, 17 or newer. Empty: JAVA_HOME, else the PATH's, else a packaged one."))
    maven_url: str = Field("", pattern=r"^$|^(https?|file)://", description=(
        "Maven repository that has Kafka's jars, or a mirror. Empty: the one that Spark's Ivy knows."))
    kafka_heap_mb: int = Field(512, ge=128, le=65_536, description="Heap of Mars's own Kafka.")
    zookeeper_heap_mb: int = Field(128, ge=64, le=65_536, description="Heap of Mars's own ZooKeeper.")
    redis_memory_bytes_max: int = Field(1024 * MIB, ge=16 * MIB, description=(
        "Memory limit of Mars's own Redis; claims stop at 70 % of it."))
    spark_driver_memory_mb: int = Field(1024, ge=512, le=65_536, description="Heap of Spark's driver.")
    spark_ui: bool = Field(False, description="Whether Spark serves its own web pages.")

    # Tests only.
    fault_folder: str = Field("", description=(
        "Tests only: a file here with the name of a crash point kills the next process that reaches that point."))

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

    @field_validator("webhook_networks")
    @classmethod
    def _networks(cls, text: str) -> str:
        return ",".join(str(ipaddress.ip_network(part.strip())) for part in filter(None, text.split(",")))

    @field_validator("secret_key_file", "api_tls_certificate", "api_tls_key", "kafka_tls_ca", "kafka_tls_certificate",
                     "kafka_tls_key")
    @classmethod
    def _absolute_file(cls, file: str) -> str:
        return file and str(Path(file).expanduser().absolute())  # server and workers run in folders of their own

    def most(self, kind: Kind) -> int:
        """How many workers of a kind there may be."""
        return max(getattr(self, kind.plural), getattr(self, f"{kind.plural}_max") if kind.is_scaled else 0)

    @property
    def workers(self) -> int:
        """How many workers there may be, of all kinds."""
        return sum(self.most(kind) for kind in KINDS)

    @property
    def spark_master_url(self) -> str:
        """The master, computed if none is given: long tasks hold their slots, and two are for short jobs."""
        return self.spark_master or f"local[{self.workers + 2}]"

    @property
    def state_root(self) -> str:
        """The URI of the folder for committed state and results, without a slash at its end."""
        return (self.state_uri or (self.data / "state").as_uri()).rstrip("/")
