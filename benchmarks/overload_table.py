"""The figures of an overload run in Markdown."""

from __future__ import annotations

from benchmarks.side_by_side_table import markdown


def figure(document: dict) -> list[str]:
    """Limits, memory under twice the load, stop and start."""
    twice, restart = document["twice"], document["restart"]
    limits: list[tuple[str, ...]] = [
        ("queries", "M tuples/s", "M answers/s", "created in, s", "MB mappers", "MB reducers", "MB redis", "answers")]
    limits += [(f"{found['queries']}", f"{found['tuples_per_s'] / 1e6:.2f}",
                f"{found['queries'] * found['tuples_per_s'] / 1e6:.1f}", f"{found['created_s']:.1f}",
                *(f"{found['memory_mb'][part]:,.0f}" for part in ("mappers", "reducers", "redis")), _answers(found))
               for found in document["limits"]]
    growth: list[tuple[str, ...]] = [
        ("part", "MB after a fifth of the time", "at the end", "greatest", "MB a minute", "when all was read")]
    growth += [(found["part"], f"{found['first_mb']:,.0f}", f"{found['last_mb']:,.0f}", f"{found['greatest_mb']:,.0f}",
                f"{found['mb_a_minute']:+.1f}", f"{twice['memory_after_mb'][found['part']]:,.0f}")
               for found in twice["growths"]]
    return [
        markdown(limits), "",
        f"Twice the load: {twice['queries']} queries, {twice['rate']:,} tuples/s for {twice['seconds']:,.0f} s, "
        f"{twice['tuples']:,} in all. At most {twice['behind_most']:,} waited in Kafka; everything was read "
        f"{twice['read_after_s']:,.0f} s after the last tuple was sent. Answers: {_answers(twice)}.{_greedy(twice)}", "",
        markdown(growth), "",
        f"Stop and start under {restart['rate']:,} tuples/s: `mars down` took {restart['down_s']:.1f} s and `mars up` "
        f"{restart['up_s']:.1f} s. The first new commit came {restart['resumed_s']:.1f} s after the start of `mars up`; "
        f"everything that had waited was committed {restart['caught_up_s']:.1f} s after it. Answers: {_answers(restart)}."]


def _greedy(twice: dict) -> str:
    return f" One more query, which held too much: {twice['greedy']}." if twice.get("greedy") else ""


def _answers(found: dict) -> str:
    return f"{len(found['wrong'])} WRONG" if found["wrong"] else "exact"
