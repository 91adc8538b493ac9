"""How what was fetched becomes a batch: by which parser, and by which of two ways (step 3; for some queries step 5 too)."""

from __future__ import annotations

from dataclasses import dataclass

from mapper.batch import CountedBatch, Messages, ParsedBatch
from mapper.fused import FusedReader, can_read
from mapper.fused_batch import FusedBatches
from mapper.fused_cells import can_count
from mapper.handoff import Fetched
from mapper.letters import LetterBox
from mapper.parse import Parser
from mapper.records import Records
from mapper.steps import Steps
from mapper.timing import Limits
from mars.model.plan import Stream

COUNTED_MAX = 5  # different aggregations: what more of them have in common (mapper/common.py) saves more than the kernel
WAYS_MAX = 16  # parsers kept; each holds dictionaries of its columns' texts


@dataclass
class Way:
    """What reads some columns of a stream, for queries with these limits; `fused` is None if the kernel cannot."""

    parser: Parser
    limits: Limits
    fused: FusedBatches | None


class Parsing:
    """Ways by stream, columns and limits, for the computing thread."""

    def __init__(self, steps: Steps, letters: LetterBox, future_limit_ms: int) -> None:
        self.steps, self.letters, self.future_limit_ms = steps, letters, future_limit_ms
        self._ways: dict[tuple, Way] = {}

    def parse(self, fetched: Fetched) -> ParsedBatch | CountedBatch:
        """The batch, judged, with the columns that its queries name; or what its queries make of it, if all of them are of
        the plainest kind. Its dead letters are written, or `letters_kept` is False. Raises CorruptRecords."""
        way, content = self._way(fetched), fetched.content
        found = self._fused(way.fused, fetched, content) if way.fused and isinstance(content, Records) else None
        if found is not None:
            batch, rest = found
            if rest is not None:
                fetched.letters_kept = self.letters.keep(way.parser, fetched.claim, rest.messages, rest.batch)
            return batch
        messages = content.messages() if isinstance(content, Records) else content
        assert isinstance(messages, Messages), "what is parsed or counted comes here no more"
        batch = self.steps.judge(fetched.view.stream, way.parser.parse(messages), messages, way.limits)
        fetched.letters_kept = self.letters.keep(way.parser, fetched.claim, messages, batch)
        return batch

    def _fused(self, batches: FusedBatches, fetched: Fetched, records: Records) -> tuple | None:
        """By the kernel. Of a claim that was given before it must be known whether reading or computing ends workers (rule
        10), so that the two are not done at once."""
        claim, plans = fetched.claim, fetched.plans
        few = len({plan.aggregation.cells_name for plan in plans.values()}) <= COUNTED_MAX
        if few and not claim.is_suspect and all(can_count(plan, fetched.view.stream) for plan in plans.values()):
            found = batches.count(records, plans, claim.partition)
            if found is not None:
                return found
        return batches.parse(records)

    def _way(self, fetched: Fetched) -> Way:
        stream = fetched.view.stream
        columns = tuple(sorted({c for plan in fetched.plans.values() for c in plan.aggregation.columns}))
        name = (stream.id, columns, Limits.of(fetched.plans.values(), self.future_limit_ms))
        way = self._ways.pop(name, None) or self._new(stream, *name[1:])
        self._ways[name] = way  # the most recently used one is last
        if len(self._ways) > WAYS_MAX:
            del self._ways[next(iter(self._ways))]
        return way

    def _new(self, stream: Stream, columns: tuple[str, ...], limits: Limits) -> Way:
        parser = self.steps.parser(stream, columns)
        if not can_read(stream, columns):
            return Way(parser, limits, None)
        return Way(parser, limits, FusedBatches(FusedReader(stream, columns, limits), parser, self.steps))
