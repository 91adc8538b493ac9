"""Which tuples pass before they are aggregated: those that pass WHERE, and are not before the window's landmark."""

from __future__ import annotations

import numpy as np
from sqlglot import exp

from mars.model.plan import UNITS_PER_SECOND, Stream
from sql.statements import SelectStatement


def condition(select: SelectStatement, stream: Stream) -> exp.Expr | None:
    """The condition of both; None if all tuples pass."""
    where, window = select.tree.args.get("where"), select.clauses.window
    if window is None or window.from_us is None:
        return where.this if where else None
    time = exp.column(stream.time_column, quoted=True)
    if stream.has_unit:
        not_before = exp.GTE(this=time, expression=exp.Literal.number(
            window.from_us * UNITS_PER_SECOND[stream.time_unit] // 1_000_000))
    else:
        landmark = exp.cast(exp.Literal.string(f"{np.datetime64(window.from_us, 'us')}Z"), "TIMESTAMP", dialect="spark")
        not_before = exp.GTE(this=exp.cast(time, "TIMESTAMP", dialect="spark"), expression=landmark)
    return exp.And(this=exp.Paren(this=where.this), expression=not_before) if where else not_before
