"""How many partial pages a second many readers get, who all ask the same while a query counts.

`python -m benchmarks.readers --readers 24 --rate 40000 --seconds 20` starts an instance of its own and puts the paper's
query in windows of a second under that load. Each reader asks for the open windows again as soon as it has its answer.
It is checked that no reader is shown an earlier commit than before, and that all answers of a commit are equal.
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import json
import multiprocessing
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from multiprocessing.queues import Queue
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import numpy as np

from api.instance import up
from benchmarks.latency_bench import Bench
from benchmarks.latency_figures import Load
from benchmarks.pacer_batches import PROBE
from benchmarks.parts import Meter, output, processes
from mars import config as configuration
from mars.errors import MarsError

BACK_S = 8
QUESTIONS = {"probes": {"where": f"type = '{PROBE}'", "limit": 10_000}, "rows": {"limit": 1_000, "order": "desc"}}
Answer = tuple[int, int, str, float]  # the reader, the commit, what was asked and answered as a digest, ms


def read(url: str, query: str, question: str, readers: int, until_s: float, told: Queue[list[Answer]]) -> None:
    """A process with all readers, each of which is a thread with a connection of its own."""
    answers: list[Answer] = []
    threads = [threading.Thread(target=_ask, args=(url, query, question, number, until_s, answers))
               for number in range(readers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    told.put(answers)


def _ask(url: str, query: str, question: str, number: int, until_s: float, answers: list[Answer]) -> None:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    while (now_s := time.time()) < until_s:
        since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now_s - BACK_S))
        asked = urlencode({"partial": "true", "from": since, **QUESTIONS[question]})
        connection.request("GET", f"/v1/queries/{query}/results?{asked}")
        answer = connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise MarsError("An answer failed", f"{answer.status}: {body[:200]!r}")
        rows = body[body.rindex(b'"rows":'):]  # `next` names what is kept for one reader
        digest = hashlib.blake2b(since.encode() + rows, digest_size=12).hexdigest()
        answers.append((number, int(answer.headers["Mars-Commit"]), f"{since} {digest}", (time.time() - now_s) * 1000))


def faults(answers: Iterable[Answer]) -> list[str]:
    """What must not be: a reader that goes back, or two answers of one commit to one question."""
    found: list[str] = []
    commits: dict[int, int] = {}
    seen: dict[tuple, str] = {}
    for reader, commit, told, _ in answers:
        if commit < commits.get(reader, 0):
            found.append(f"reader {reader} went back from commit {commits[reader]} to {commit}")
        commits[reader] = commit
        asked, digest = told.split()
        if seen.setdefault((asked, commit), digest) != digest:
            found.append(f"commit {commit} has two answers")
    return found


def measure(bench: Bench, load: Load, readers: int, question: str) -> dict:
    """The figures of one run."""
    told: Queue[list[Answer]] = multiprocessing.get_context("spawn").Queue()
    with bench.query(load.name, load), bench.produce(load.name, load) as producer:
        time.sleep(3.0)  # until there is something to read
        seconds = load.seconds - 5.0
        asking = multiprocessing.get_context("spawn").Process(
            target=read, args=(bench.run.api, f"q_{load.name}", question, readers, time.time() + seconds, told))
        with Meter(processes(bench.run, bench.config)) as meter:
            asking.start()
            answers = told.get(timeout=load.seconds + 60)
            asking.join()
        output(producer).readline()
    waited = np.array([ms for *_, ms in answers])
    return {"answers_per_s": round(len(answers) / seconds, 1), "commits": len({commit for _, commit, _, _ in answers}),
            "ms": {f"p{of}": round(float(np.percentile(waited, of)), 1) for of in (50, 99)},
            "cores": {part: round(cpu / seconds, 3) for part, cpu in meter.cpu_s.items()}, "faults": faults(answers)[:3]}


def main() -> None:
    """The benchmark; exit code 1 if an answer was wrong."""
    parser = argparse.ArgumentParser(prog="benchmarks.readers", description=__doc__.splitlines()[0])
    parser.add_argument("--readers", type=int, default=24)
    parser.add_argument("--rate", type=float, default=40_000, help="tuples per second")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--warm", type=float, default=20.0)
    parser.add_argument("--question", choices=QUESTIONS, action="append", help="`probes`: few rows; `rows`: 1,000")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mars-bench-") as folder:
        config = configuration.load({"data": Path(folder)})
        run = up.detach(config, lambda name, detail, seconds: print(f"  {name:<16} {seconds:5.1f} s", file=sys.stderr))
        try:
            with Bench(run, config, Path(folder)) as bench:
                bench.warm(given.warm)
                found = {question: measure(bench, Load(f"r_{question}", given.rate, given.seconds), given.readers, question)
                         for question in given.question or QUESTIONS}
        finally:
            up.down(config.data)
    print(json.dumps(found, indent=1))
    sys.exit(1 if any(each["faults"] for each in found.values()) else 0)


if __name__ == "__main__":
    main()
