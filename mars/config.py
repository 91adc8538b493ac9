"""The one configuration: where each setting comes from; `settings` says what each may be and means.

A setting is taken from the command line, else from the environment (`MARS_` and its name in capitals), else
from the TOML file, else from its default. A `Config` never changes and is the same in every process: it
travels to Spark tasks as JSON and reads nothing there.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError, model_validator

from mars.errors import ConfigurationError
from mars.settings import Settings
from mars.settings_checks import contradictions

PREFIX = "MARS_"


class Config(Settings):
    """Settings that do not contradict each other. See `load` for how one is made."""

    @model_validator(mode="after")
    def _consistent(self) -> Config:
        for fault in contradictions(self):
            raise ValueError(fault)
        return self

    def to_json(self) -> str:
        """All settings, defaults included; `from_json` gives an equal `Config` back, in any process."""
        return self.model_dump_json()

    @classmethod
    def from_json(cls, text: str) -> Config:
        """The `Config` that `to_json` wrote. Looks at no file and no environment."""
        return cls.model_validate_json(text)


def load(flags: Mapping[str, Any] | None = None, file: Path | None = None,
         environment: Mapping[str, str] | None = None) -> Config:
    """The configuration of this command. `flags` holds settings by name, None meaning not given;
    `environment` is `os.environ` unless given.

    Raises ConfigurationError, in one line: the setting, its value, where it came from, what is allowed.
    """
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    layers = [
        (f"the file {file}", _read_file(file) if file else {}),
        ("the environment", _read_environment(os.environ if environment is None else environment)),
        ("the command line", {name: value for name, value in (flags or {}).items() if value is not None}),
    ]
    for origin, layer in layers:
        for name, value in layer.items():
            if name not in Config.model_fields:
                raise ConfigurationError(f"{name} in {origin} is not a setting", _did_you_mean(name))
            values[name] = value
            origins[name] = f"{PREFIX}{name.upper()}" if origin == "the environment" else origin
    try:
        return Config(**values)
    except ValidationError as error:
        raise _explain(error, origins) from None


def _read_file(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"The configuration file {file} cannot be read", str(error)) from None


def _read_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The settings in an environment; an empty one counts as not given. Other programs may use our prefix, so only a name
    that looks misspelt is refused."""
    settings: dict[str, str] = {}
    for key, value in environment.items():
        name = key.removeprefix(PREFIX).lower()
        if not key.startswith(PREFIX) or not value:
            continue
        if name in Config.model_fields or _closest(name):
            settings[name] = value
    return settings


def _closest(name: str) -> str:
    return next(iter(difflib.get_close_matches(name, Config.model_fields, n=1, cutoff=0.8)), "")


def _did_you_mean(name: str) -> str:
    closest = _closest(name)
    return f"did you mean {closest}?" if closest else f"the settings are {', '.join(Config.model_fields)}"


def _explain(error: ValidationError, origins: Mapping[str, str]) -> ConfigurationError:
    """The first fault as one line. Users correct one at a time."""
    fault = error.errors()[0]
    said = fault["msg"].removeprefix("Value error, ")
    if not fault["loc"]:
        used = sorted({origin for name, origin in origins.items() if name in said})
        return ConfigurationError("Settings contradict each other", f"{said} (from {', '.join(used)})")
    name = str(fault["loc"][0])
    allowed = said[0].lower() + said[1:]
    if fault["type"] == "string_pattern_mismatch":
        allowed = Config.model_fields[name].description or allowed
    value = repr(fault["input"]) if Config.model_fields[name].repr else "the value"
    return ConfigurationError(f"{name} = {value} from {origins[name]} is not allowed", allowed)
