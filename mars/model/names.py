"""Where things are stored: every znode path and every Redis key of Mars, in one place.

Each Redis key of a stream carries the stream's hash tag, so that one script may touch them all and a stream can have
a Redis of its own.
"""

from __future__ import annotations

ROOT = "/mars"
CATALOG = f"{ROOT}/catalog"
LEADER = f"{ROOT}/leader"
ELECTION = f"{ROOT}/election"
MAPPERS = f"{ROOT}/mappers"
REDUCERS = f"{ROOT}/reducers"
PUBLISHERS = f"{ROOT}/publishers"
WORKFORCE = f"{ROOT}/workforce"  # how many workers are wanted (mars/model/workforce.py)
STREAMS = f"{ROOT}/streams"
SINKS = f"{ROOT}/sinks"  # sinks.SinkSet; the znodes of each sink are below it
SECRETS = f"{ROOT}/secrets"  # each secret by name is below it, encrypted
CHANGES = f"{ROOT}/changes"  # a znode for each change of the catalog that is under way (mars/adapters/changes.py)
STOP = f"{ROOT}/stop"  # while it exists, workers end themselves
INSTANCE = f"{ROOT}/instance"  # which instance owns all this, and in which format (api/instance/identity.py)
INSTANCE_KEY = "mars:instance"  # the Redis key that names the instance that owns the Redis


def stream(stream_id: int) -> str:
    """The znode under which everything of one stream is stored."""
    return f"{STREAMS}/{stream_id}"


def generation(stream_id: int) -> str:
    """A number; it changes whenever Redis may have lost anything of the stream."""
    return f"{stream(stream_id)}/generation"


def queries(stream_id: int) -> str:
    """The stream's query set (registry.QuerySet)."""
    return f"{stream(stream_id)}/queries"


def owner(stream_id: int, key_part: int) -> str:
    """The reducer that owns a key part; the znode's version is the assignment epoch."""
    return f"{stream(stream_id)}/parts/{key_part}/owner"


def pointer(stream_id: int, key_part: int) -> str:
    """The last commit of a key part (commits.Pointer)."""
    return f"{stream(stream_id)}/parts/{key_part}/pointer"


def recovery_request(stream_id: int) -> str:
    """Made by a reducer that met a broken invariant; the leader answers with a recovery."""
    return f"{stream(stream_id)}/recovery"


def sink_status(sink_id: str) -> str:
    """What a sink's owner says of it (sinks.SinkStatus)."""
    return f"{SINKS}/{sink_id}"


def sink_owner(sink_id: str) -> str:
    """Who delivers for a sink; the znode's version is the epoch of its marks."""
    return f"{SINKS}/{sink_id}/owner"


def broken(stream_id: int) -> str:
    """The last broken invariant of a stream, with its generation and time (rule 13)."""
    return f"{stream(stream_id)}/broken"


ENTRIES, CHECKS = "entries", "checks"


def channel(kind: str, stream_id: int | str) -> str:
    """The Redis channel that wakes waiting processes: ENTRIES for reducers (new entries in a log, or new facts), CHECKS for
    the leader (a window waits for a check of the partition list). With the id '*', the pattern of all streams."""
    return f"mars:{{{stream_id}}}:{kind}"


def parse_channel(name: str) -> tuple[str, int]:
    """(kind, stream id) of a channel."""
    _, stream_id, kind = name.split(":")
    return kind, int(stream_id.strip("{}"))


class Keys:
    """The Redis keys of one stream."""

    def __init__(self, stream_id: int) -> None:
        self.prefix = f"mars:{{{stream_id}}}:"
        self.generation = self.prefix + "generation"   # hash: generation, server, leader epoch
        self.sequence = self.prefix + "seq"            # SEQ: one INCR per push
        self.claims = self.prefix + "claims"           # hash: claim id -> record (JSON)
        self.leases = self.prefix + "leases"           # sorted set: claim id by deadline, ms of Redis time
        self.requests = self.prefix + "requests"       # hash: worker -> its last request number and answer
        self.progress = self.prefix + "progress"       # hash: partition -> greatest event time pushed
        self.facts = self.prefix + "facts"             # hash: what the leader saw of the partitions
        self.counters = self.prefix + "counters"       # hash: claim ids and epochs
        self.rates = self.prefix + "rates"             # hash: query id -> up to when its RATE is used up, ms of Redis time
        self.owners = self.prefix + "owners"           # hash: key part -> greatest assignment epoch seen
        self.detached = self.prefix + "detached"       # hash: query id -> greatest incarnation taken off its lanes

    def lanes(self, partition: int) -> str:
        """Hash: query id -> 'incarnation:cursor'."""
        return f"{self.prefix}lanes:{partition}"

    def stops(self, partition: int) -> str:
        """Sorted set of offsets that no claim may cross."""
        return f"{self.prefix}stops:{partition}"

    def log(self, key_part: int) -> str:
        """The log of a key part: a Redis stream of entries, entry id = SEQ-0."""
        return f"{self.prefix}log:{key_part}"

    def positions(self, key_part: int) -> str:
        """Hash: 'partition:query id' -> committed position, a copy for the bound (rule 8)."""
        return f"{self.prefix}positions:{key_part}"
