"""`python -m tests.nemesis`: a campaign of faults on real processes; `--report` writes what all of them came to.

    python -m tests.nemesis --minutes 10             # goes on where the campaign of this seed stopped
    python -m tests.nemesis --only RolledBack,Flushed --seed 7
    python -m tests.nemesis --bug NAME               # a hunt for a planted bug, or `all`: red with it, and only with it
"""

from __future__ import annotations

import signal
import sys
import threading
from pathlib import Path

import click

from tests.nemesis import journal, totals
from tests.nemesis.bugs import ALL, BUGS
from tests.nemesis.campaign import VISITORS, Campaign
from tests.nemesis.faults import every, named
from tests.nemesis.hunting import Hunter


@click.command()
@click.option("--minutes", default=10.0, show_default=True, help="how long faults come")
@click.option("--hours", type=float, help="the same in hours")
@click.option("--seed", default=1, show_default=True, help="of the schedule and of the tuples; names the campaign")
@click.option("--rate", default=20_000, show_default=True, help="tuples a second")
@click.option("--round", "round_s", default=150.0, show_default=True, help="seconds until a stream is judged")
@click.option("--limit", "limit_s", default=60.0, show_default=True, help="seconds for recovery; twice that for pairs")
@click.option("--faults", type=int, help="stop after so many")
@click.option("--brokers", default=1, show_default=True, help="of Kafka; with 3 leaders change, and one is deposed")
@click.option("--visitors", default=VISITORS, show_default=True, help="queries of other windows and emissions in a round")
@click.option("--only", default="", help="kinds of faults, with commas between them")
@click.option("--folder", type=click.Path(path_type=Path), default=journal.DEFAULT, show_default=True, help="of journals")
@click.option("--bug", "bugs", multiple=True, type=click.Choice([ALL, *BUGS]), help="hunt a planted bug")
@click.option("--report", is_flag=True, help="write the folder's journals into campaign.jsonl and docs/reliability.md")
def main(minutes: float, hours: float | None, seed: int, rate: int, round_s: float, limit_s: float, faults: int | None,
         brokers: int, visitors: int, only: str, folder: Path, bugs: tuple[str, ...], report: bool) -> None:
    """Real Kafka, Redis, ZooKeeper, Spark and workers, under load, while faults come. Exit code 1 if anything was wrong."""
    if report:
        totals.report(folder)
        return
    kinds = tuple(filter(None, only.split(",")))
    there = {*every(), *(kind.__name__ for kind in named.kinds(brokers))}
    if unknown := set(kinds) - there:
        raise click.UsageError(f"no fault is named {', '.join(sorted(unknown))}; there are {', '.join(sorted(there))}")
    notes = journal.Journal(folder, seed, "bugs" if bugs else "")
    if bugs:
        with Hunter(notes, click.echo) as hunter:
            end_by_signal(hunter.stopping, "the hunt")
            sys.exit(0 if hunter.run([name for name in BUGS if name in bugs or ALL in bugs]) else 1)
    campaign = Campaign(notes, seed, rate, round_s, limit_s, kinds, click.echo, brokers, visitors)
    end_by_signal(campaign.stopping, "the round")
    with campaign:
        exact = campaign.run(hours * 3600 if hours else minutes * 60, faults)
    click.echo("nothing was wrong" if exact else f"{len(campaign.wrong)} things were wrong")
    sys.exit(0 if exact else 1)


def end_by_signal(stopping: threading.Event, what: str) -> None:
    """SIGINT and SIGTERM end it in order; a second one at once."""
    def stop(*_: object) -> None:
        if stopping.is_set():
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN)
            raise KeyboardInterrupt
        click.echo(f"stopping: {what} is finished first; once more to stop at once")
        stopping.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)


if __name__ == "__main__":
    main()
