"""The command line: the names and options of the commands. What a command does is in `api.cli.commands`, which is
imported when it runs.

Exit codes of every command: 0; 1 refused or failed; 2 usage; 3 not running; 4 set-up incomplete; 130
interrupted. Results go to stdout, everything else to stderr.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import Any

import click

BENCHMARKS = ("throughput",)
FORMATS = ("table", "json", "csv", "arrow")



class Folder(click.Path):
    """A path, but not the empty text, which pathlib takes for the current folder."""

    def convert(self, value: str | os.PathLike[str], param: click.Parameter | None,
                context: click.Context | None) -> str | bytes | os.PathLike[str]:
        """The path, as click does it."""
        if value == "":
            self.fail("the name is empty; leave out --data for the default folder", param, context)
        return super().convert(value, param, context)


data_option = click.option("--data", metavar="DIR", envvar="MARS_DATA", type=Folder(path_type=Path),
                           help="The instance's folder; it also names the instance.")
config_option = click.option("--config", "file", metavar="FILE", type=click.Path(path_type=Path),
                             help="A file with settings, in TOML.")
api_option = click.option("--api", metavar="URL", help="Another API, instead of the one of this folder.")
ca_option = click.option("--ca", metavar="FILE", type=click.Path(path_type=Path),
                         help="With --api: PEM file of the authority that signed its certificate.")


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
@click.option("--port", type=click.IntRange(0, 65535), help="The API's port. 0 or not given: a free port.")
@click.option("--detach", is_flag=True, help="Return when Mars is ready, and leave it running.")
@config_option
def up(**options: object) -> None:
    """Start Kafka, ZooKeeper, Redis, the workers and the API."""
    run("api.cli.commands.instance", "up", options)


@mars.command()
@data_option
@click.option("--purge", is_flag=True, help="Also delete the data.")
def down(**options: object) -> None:
    """Stop everything that `mars up` started."""
    run("api.cli.commands.instance", "down", options)


@mars.command()
@data_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON, and nothing else, to stdout.")
def status(**options: object) -> None:
    """Show what runs, and at which addresses."""
    run("api.cli.commands.status", "status", options)


@mars.command()
@data_option
@config_option
def doctor(**options: object) -> None:
    """Show what this machine lacks, and the command that fixes it."""
    run("api.cli.commands.instance", "doctor", options)


@mars.command()
@data_option
@api_option
@ca_option
@click.option("-c", "--command", "texts", metavar="SQL", multiple=True, help="Run these statements. May be repeated.")
@click.option("-f", "--file", "script", metavar="FILE", help="Run the statements of a file. - is stdin.")
@click.option("--format", "format_", type=click.Choice(FORMATS), help="The default is table on a terminal, else csv.")
@click.argument("dash", required=False, type=click.Choice(["-"]), metavar="[-]")
def sql(texts: tuple[str, ...], script: str | None, dash: str | None, **options: object) -> None:
    """Run SQL statements; without any, open an interactive shell."""
    # Each ends on a line of its own, so that a comment at its end does not swallow the next one.
    text = "\n;\n".join(texts) if texts else None
    if sum(given is not None for given in (text, script, dash)) > 1:
        raise click.UsageError("Give one of -c, -f and -.")
    check_ca(options)
    run("api.cli.commands.sql", "sql", {**options, "text": text, "script": "-" if dash else script})


@mars.command()
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--topic", required=True, help="The topic for the lines. It is created if it does not exist.")
@click.option("--rate", type=click.IntRange(1), help="The most lines per second.")
@click.option("--stamp", type=click.Choice(["now"]), help="Write the time of sending into the event-time column.")
@click.option("--header/--no-header", default=None, help="Whether line 1 names the columns. Guessed if not given.")
@click.option("--time", "time_column", metavar="COLUMN", help="The event-time column. Guessed if not given.")
@click.option("--kafka", metavar="HOST:PORT", help="Another Kafka, instead of the one of this folder.")
@data_option
def load(**options: object) -> None:
    """Send each line of a file to a topic as one message."""
    run("api.cli.commands.load", "load", options)


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
@click.option("--seconds", type=click.IntRange(1), default=30, show_default=True, help="How long to send tuples.")
@click.option("--file", "file", metavar="FILE", type=click.Path(path_type=Path), help="Your own CSV or JSON lines.")
@click.option("--topic", help="Your own topic, in --kafka or in this instance.")
@click.option("--kafka", metavar="HOST:PORT", help="A running Kafka, instead of starting one.")
@click.option("--schema", help="Columns and types, as in CREATE STREAM: 'ts BIGINT, name STRING'.")
@click.option("--time", "time_column", metavar="COLUMN", help="The event-time column.")
@click.option("--unit", type=click.Choice(["s", "ms", "us", "ns"]), help="The unit of the event time, if it is an integer.")
@click.option("--sql", "select", metavar="SELECT", help="The query to run.")
@click.option("--into", type=click.Choice(["postgres"]), help="Deliver the results into a Postgres of the demo's own, too.")
@click.option("--stop/--keep", default=False, help="Stop everything at the end, or keep it running (the default).")
def demo(**options: Any) -> None:
    """Show exact live results from nothing: start, feed, query, watch, check."""
    run("api.demo.command", "demo", options)


@mars.command(context_settings={"ignore_unknown_options": True})
@click.argument("name", type=click.Choice(BENCHMARKS))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def bench(name: str, arguments: tuple[str, ...]) -> None:
    """Run a benchmark, with the arguments that follow its name."""
    os.execv(sys.executable, [sys.executable, "-m", f"benchmarks.{name}", *arguments])


def run(module: str, function: str, options: dict) -> None:
    """What a command does; imported only now, as most of it takes long to load."""
    getattr(importlib.import_module(module), function)(**options)


def check_ca(options: dict) -> None:
    """Refuses --ca without --api: an instance on this machine is trusted by its own certificate, so --ca would mean
    nothing."""
    if options["ca"] and not options["api"]:
        raise click.UsageError("--ca needs --api.")


def main(arguments: list[str] | None = None) -> None:
    """The program: run the command, show what went wrong, exit with the code that says so."""
    try:
        mars.main(arguments, prog_name="mars", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        sys.exit(130)
    except BrokenPipeError:  # the reader of our rows has closed the pipe, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    except click.exceptions.Exit as end:
        sys.exit(end.exit_code)
    except Exception as error:
        from api.cli.errors import show

        sys.exit(show(error))
