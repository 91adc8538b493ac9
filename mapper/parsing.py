"""How what was fetched becomes a batch: by which parser, and by which of two ways (step 3)."""

from __future__ import annotations

from mapper.batch import ParsedBatch
from mapper.fused_batch import FusedReaders
from mapper.handoff import Fetched
from mapper.letters import LetterBox
from mapper.parse import Parser
from mapper.records import Records
from mapper.steps import Steps

PARSERS_MAX = 16  # each keeps dictionaries of its columns' texts


class Parsing:
    """Parsers by stream and columns, for the computing thread."""

    def __init__(self, steps: Steps, letters: LetterBox, future_limit_ms: int) -> None:
        self.steps, self.letters, self.future_limit_ms = steps, letters, future_limit_ms
        self._parsers: dict[tuple, Parser] = {}
        self._fused = FusedReaders(future_limit_ms)

    def parse(self, fetched: Fetched) -> ParsedBatch:
        """The batch, judged, with the columns that its queries name; its dead letters are written, or `letters_kept` is
        False. Raises CorruptRecords."""
        parser, content = self._parser(fetched), fetched.content
        found = self._fused.read(parser, content) if isinstance(content, Records) else None
        if found is not None:
            if found.rest is not None:
                fetched.letters_kept = self.letters.keep(parser, fetched.claim, found.unusual, found.rest)
            return found.batch
        messages = content.messages() if isinstance(content, Records) else content
        batch = self.steps.judge(fetched.view.stream, parser.parse(messages), messages, self.future_limit_ms)
        fetched.letters_kept = self.letters.keep(parser, fetched.claim, messages, batch)
        return batch

    def _parser(self, fetched: Fetched) -> Parser:
        stream = fetched.view.stream
        columns = tuple(sorted({c for plan in fetched.plans.values() for c in plan.columns}))
        parser = self._parsers.pop((stream.id, columns), None) or self.steps.parser(stream, columns)
        self._parsers[(stream.id, columns)] = parser  # the last one used is the last one here
        if len(self._parsers) > PARSERS_MAX:
            del self._parsers[next(iter(self._parsers))]
        return parser
