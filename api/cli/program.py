"""The command line: what each command is called and takes. What it does lies in `api.cli.commands`, imported when
it runs.

Exit codes of every command: 0; 1 refused or failed; 2 usage; 3 not running; 4 set-up incomplete; 130
interrupted. Results go to stdout, everything else to stderr.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

BENCHMARKS = ("throughput",)
FORMATS = ("table", "json", "csv", "arrow")



class Folder(click.Path):
    """A path, but not the empty text, which pathlib takes for the current folder."""

    def convert(self, value: object, param: click.Parameter | None, context: click.Context | None) -> object:
        """The path, as click does it."""
        if value == "":
            self.fail("it names no folder; without --data it is the default one", param, context)
        return super().convert(value, param, context)


data_option = click.option("--data", metavar="DIR", envvar="MARS_DATA", type=Folder(path_type=Path),
                           help="The instance's folder; it also names the instance.")
config_option = click.option("--config", "file", metavar="FILE", type=click.Path(path_type=Path),
                             help="Settings in TOML.")
api_option = click.option("--api", metavar="URL", help="An API elsewhere, instead of the one on this folder.")
ca_option = click.option("--ca", metavar="FILE", type=click.Path(path_type=Path),
                         help="With --api: PEM file of the authority behind its certificate.")


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, invoke_without_command=True)
@click.version_option(package_name="mars-streams", message="mars %(version)s")
@click.pass_context
def mars(context: click.Context) -> None:
    """Exact, live window statistics over Kafka topics, in SQL.

    Without a command: the SQL shell on a terminal, else SQL from stdin."""
    if context.invoked_subcommand is None:
        context.invoke(sql)


@mars.command()
@data_option
@click.option("--port", type=click.IntRange(0, 65535), help="The API's port; 0, or none: a free one.")
@click.option("--detach", is_flag=True, help="Return when ready, and leave it running.")
@config_option
def up(data: Path | None, port: int | None, detach: bool, file: Path | None) -> None:
    """Start Kafka, ZooKeeper, Redis, the workers and the API."""
    from api.cli.commands.instance import up

    up(data, port, detach, file)


@mars.command()
@data_option
@click.option("--purge", is_flag=True, help="Delete the data too.")
def down(data: Path | None, purge: bool) -> None:
    """Stop everything that `mars up` started."""
    from api.cli.commands.instance import down

    down(data, purge)


@mars.command()
@data_option
@click.option("--json", "as_json", is_flag=True, help="JSON alone on stdout.")
def status(data: Path | None, as_json: bool) -> None:
    """What runs, and where it answers."""
    from api.cli.commands.status import status

    status(data, as_json)


@mars.command()
@data_option
@config_option
def doctor(data: Path | None, file: Path | None) -> None:
    """What is missing on this machine, and the command that mends it."""
    from api.cli.commands.instance import doctor

    doctor(data, file)


@mars.command()
@data_option
@api_option
@ca_option
@click.option("-c", "--command", "texts", metavar="SQL", multiple=True, help="Run these statements; may be repeated.")
@click.option("-f", "--file", "script", metavar="FILE", help="Run the statements of a file; - is stdin.")
@click.option("--format", "format_", type=click.Choice(FORMATS), help="Default: table on a terminal, else csv.")
@click.argument("dash", required=False, type=click.Choice(["-"]), metavar="[-]")
def sql(data: Path | None, api: str | None, ca: Path | None, texts: tuple[str, ...], script: str | None,
        format_: str | None, dash: str | None) -> None:
    """Run SQL statements, or an interactive shell without any."""
    from api.cli.commands.sql import sql

    # Each ends on a line of its own, so that a comment at its end takes nothing of the next.
    text = "\n;\n".join(texts) if texts else None
    if sum(given is not None for given in (text, script, dash)) > 1:
        raise click.UsageError("Give one of -c, -f and -.")
    check_ca(api, ca)
    sql(data, api, ca, text, "-" if dash else script, format_)


@mars.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--topic", required=True, help="The topic that the lines go to; made if it is absent.")
@click.option("--rate", type=click.IntRange(1), help="Lines per second, at most.")
@click.option("--stamp", type=click.Choice(["now"]), help="Write the time of sending into the event-time column.")
@click.option("--header/--no-header", default=None, help="Whether line 1 names the columns; guessed if not given.")
@click.option("--time", "time_column", metavar="COLUMN", help="The event-time column; guessed if not given.")
@click.option("--kafka", metavar="HOST:PORT", help="A Kafka elsewhere, instead of the one on this folder.")
@data_option
def load(file: Path, topic: str, rate: int | None, stamp: str | None, header: bool | None, time_column: str | None,
         kafka: str | None, data: Path | None) -> None:
    """Send each line of a file to a topic as one message."""
    from api.cli.commands.load import load

    load(file, topic, rate, stamp == "now", header, time_column, kafka, data)


@mars.command()
@click.argument("stream")
@click.option("--topic", help="Where the tuples go; the stream's own topic if not given.")
@click.option("--reason", metavar="TEXT", help="Only letters whose reason has this text in it.")
@click.option("--where", metavar="CONDITION", help="Only these: 'partition = 0 AND offset < 500'.")
@click.option("--dry-run", is_flag=True, help="Only say what would be sent.")
@data_option
@api_option
@ca_option
def redrive(stream: str, topic: str | None, reason: str | None, where: str | None, dry_run: bool, data: Path | None,
            api: str | None, ca: Path | None) -> None:
    """Send a stream's dead letters into a topic again, each once."""
    from api.cli.commands.redrive import redrive

    check_ca(api, ca)
    redrive(stream, topic, reason, where, dry_run, data, api, ca)


@mars.group()
def secret() -> None:
    """Passwords for connections: PASSWORD SECRET NAME."""


@secret.command("set")
@click.argument("name")
@click.option("--file", type=click.Path(path_type=Path), help="Read it from a file; else from stdin, or a prompt.")
@data_option
def secret_set(name: str, file: Path | None, data: Path | None) -> None:
    """Keep a secret, or another value of it."""
    from api.cli.commands.secret import set_secret

    set_secret(data, name, file)


@secret.command("list")
@data_option
def secret_list(data: Path | None) -> None:
    """The names of all secrets."""
    from api.cli.commands.secret import list_secrets

    list_secrets(data)


@secret.command("drop")
@click.argument("name")
@data_option
def secret_drop(name: str, data: Path | None) -> None:
    """Forget a secret that no connection names."""
    from api.cli.commands.secret import drop_secret

    drop_secret(data, name)


secret.add_command(secret_drop, "rm")


@mars.command()
@data_option
@click.option("--rate", type=click.IntRange(1), default=100_000, show_default=True, help="Tuples per second.")
@click.option("--seconds", type=click.IntRange(1), default=30, show_default=True, help="How long tuples are sent.")
@click.option("--file", "file", metavar="FILE", type=click.Path(path_type=Path), help="Your own CSV or JSON lines.")
@click.option("--topic", help="Your own topic, of --kafka or of this instance.")
@click.option("--kafka", metavar="HOST:PORT", help="A running Kafka, instead of starting one.")
@click.option("--schema", help="Columns and types, as in CREATE STREAM: 'ts BIGINT, name STRING'.")
@click.option("--time", "time_column", metavar="COLUMN", help="The event-time column.")
@click.option("--unit", type=click.Choice(["s", "ms", "us", "ns"]), help="Its unit, if it is an integer.")
@click.option("--sql", "select", metavar="SELECT", help="The query to run.")
@click.option("--stop/--keep", default=False, help="Stop everything at the end; else it goes on running.")
def demo(**options: object) -> None:
    """From nothing to exact live results: start, feed, query, watch, check."""
    from api.demo.command import demo

    demo(**options)


@mars.command(context_settings={"ignore_unknown_options": True})
@click.argument("name", type=click.Choice(BENCHMARKS))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def bench(name: str, arguments: tuple[str, ...]) -> None:
    """Run a benchmark; what follows its name goes to it."""
    os.execv(sys.executable, [sys.executable, "-m", f"benchmarks.{name}", *arguments])


def check_ca(api: str | None, ca: Path | None) -> None:
    """An instance on this machine is believed by its own certificate, so --ca says nothing there."""
    if ca and not api:
        raise click.UsageError("--ca goes with --api.")


def main(arguments: list[str] | None = None) -> None:
    """The program: run the command, show what went wrong, exit with the code that says so."""
    try:
        mars.main(arguments, prog_name="mars", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        sys.exit(130)
    except BrokenPipeError:  # the reader of our rows has had enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    except click.exceptions.Exit as end:
        sys.exit(end.exit_code)
    except Exception as error:
        from api.cli.commands.errors import show

        sys.exit(show(error))
