"""The windows as other systems write them give the plans of the dialect's own clause."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mars.errors import SqlError
from mars.model.plan import QueryPlan, Stream
from sql.check.compile import compile_select
from sql.read.parse import parse

T = "TABLE flows, DESCRIPTOR(timestamp)"
BY_SIP = "TABLE flows PARTITION BY sip, DESCRIPTOR(timestamp)"
BOUNDS = "window_start, window_end"
SAME = [
    (f"FROM TABLE(TUMBLE({T}, INTERVAL '60' SECOND)) GROUP BY {BOUNDS}, sip", "FROM flows GROUP BY sip WINDOWING 60 s"),
    (f"FROM TABLE(TUMBLE({T}, INTERVAL '1' HOUR, INTERVAL '5' MINUTE)) WHERE ok GROUP BY sip, {BOUNDS}",
     "FROM flows WHERE ok GROUP BY sip WINDOWING 1 h OFFSET 5 min"),
    (f"FROM TABLE(HOP({T}, INTERVAL '10' SECONDS, INTERVAL '1' MINUTE)) GROUP BY {BOUNDS}, sip WATERMARK 3 s",
     "FROM flows GROUP BY sip WATERMARK 3 s WINDOWING 60 s EVERY 10 s"),
    (f"from table(cumulate({T}, interval '1' minute, interval '1' day)) group by {BOUNDS}, sip",
     "FROM flows GROUP BY sip WINDOWING LANDMARK EACH DAY EVERY 1 min"),
    ("FROM flows GROUP BY window(timestamp, '60 seconds'), sip", "FROM flows GROUP BY sip WINDOWING 60 s"),
    ("FROM flows GROUP BY sip, window(timestamp, '1 minute', '10 seconds') HAVING count > 2",
     "FROM flows GROUP BY sip WINDOWING 1 min EVERY 10 s HAVING count > 2"),
    ("FROM flows GROUP BY sip, window(timestamp, '60s', '60s', '0 s')", "FROM flows GROUP BY sip WINDOWING 60 s"),
    ("FROM flows GROUP BY window(timestamp, '60 seconds', '10 seconds', '5 seconds'), sip",
     "FROM flows GROUP BY sip WINDOWING 60 s EVERY 10 s OFFSET 5 s"),
    (f"FROM TABLE(SESSION({T}, INTERVAL '5' MINUTE)) GROUP BY {BOUNDS}, sip",
     "FROM flows GROUP BY sip WINDOWING SESSION GAP 5 min"),
    (f"FROM TABLE(SESSION({BY_SIP}, INTERVAL '30' SECOND)) GROUP BY {BOUNDS}, sip",
     "FROM flows GROUP BY sip WINDOWING SESSION GAP 30 s"),
    ("FROM flows GROUP BY sip, session_window(timestamp, '5 minutes') GRACE 2 s",
     "FROM flows GROUP BY sip GRACE 2 s WINDOWING SESSION GAP 5 min"),
]
REFUSED = [
    (f"FROM TABLE(SESSION({T}, INTERVAL '5' MINUTE, INTERVAL '1' HOUR)) GROUP BY {BOUNDS}",
     "SESSION does not take 2 intervals"),
    (f"FROM TABLE(SESSION({BY_SIP}, INTERVAL '5' MINUTE)) GROUP BY {BOUNDS}",
     "PARTITION BY differs from GROUP BY"),
    (f"FROM TABLE(TUMBLE({BY_SIP}, INTERVAL '5' MINUTE)) GROUP BY {BOUNDS}", "unexpected PARTITION BY"),
    ("FROM flows GROUP BY session_window(timestamp, '5 min', '1 h')", "session_window does not take 2 lengths"),
    (f"FROM TABLE(SLIDE({T}, INTERVAL '5' MINUTE)) GROUP BY {BOUNDS}", "unknown window function SLIDE"),
    (f"FROM TABLE(HOP({T}, INTERVAL '5' MINUTE)) GROUP BY {BOUNDS}", "HOP does not take 1 intervals"),
    (f"FROM TABLE(HOP({T}, INTERVAL '5' MINUTE, INTERVAL '1' MINUTE)) GROUP BY {BOUNDS}", "do not fit each other"),
    (f"FROM TABLE(CUMULATE({T}, INTERVAL '7' MINUTE, INTERVAL '1' HOUR)) GROUP BY {BOUNDS}", "do not fit each other"),
    (f"FROM TABLE(TUMBLE({T}, INTERVAL '1' MONTH)) GROUP BY {BOUNDS}", "this is no length of a window"),
    (f"FROM TABLE(TUMBLE({T}, INTERVAL '60' SECOND)) GROUP BY sip WINDOWING 60 s", "WINDOWING is given twice"),
    ("FROM TABLE(TUMBLE(TABLE flows, DESCRIPTOR(seen), INTERVAL '60' SECOND)) GROUP BY sip", "seen is not the event time"),
    ("FROM flows GROUP BY window(seen, '1 minute')", "seen is not the event time"),
    ("FROM flows GROUP BY window(timestamp, 'a while')", "'a while' is no length of a window"),
    ("FROM flows GROUP BY window(timestamp)", "window does not take 0 lengths"),
    ("FROM flows GROUP BY window(timestamp, '1 min') WINDOWING 60 s", "the window is given twice"),
]


def plan(sql: str, stream: Stream) -> QueryPlan:
    return replace(compile_select(parse(f"SELECT sip, count(*) {sql}"), stream, True), sql="")


@pytest.mark.parametrize(("theirs", "ours"), SAME)
def test_both_spellings_are_one_plan(theirs: str, ours: str, flows: Stream) -> None:
    assert plan(theirs, flows) == plan(ours, flows)


@pytest.mark.parametrize("struct", ["window", "session_window"])
def test_the_bounds_of_sparks_struct_are_those_of_the_window(flows: Stream, struct: str) -> None:
    select = f"SELECT {struct}.start, {struct}.end AS e, sip FROM flows GROUP BY {struct}(timestamp, '1 min'), sip"
    made = compile_select(parse(select), flows, True)
    assert [output.name for output in made.presentation.outputs] == ["e", "sip"]
    assert made.presentation.outputs[0].expression.name == "window_end"


@pytest.mark.parametrize(("sql", "title"), REFUSED)
def test_what_does_not_fit_is_refused(sql: str, title: str, flows: Stream) -> None:
    with pytest.raises(SqlError, match=title):
        compile_select(parse(f"SELECT count(*) {sql}"), flows, True)
