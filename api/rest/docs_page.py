"""The page at /docs: the OpenAPI document as plain HTML. It has no script and loads nothing, so it works without the
internet."""

from __future__ import annotations

import base64
import hashlib
import re
from html import escape
from itertools import groupby

STYLE = """
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 2.5rem; }
h3 { margin: 2rem 0 0; padding-top: .5rem; border-top: 1px solid #8886; font-size: 1rem; }
table { border-collapse: collapse; margin: .5rem 0; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .2rem 1rem .2rem 0; }
th { font-weight: normal; white-space: nowrap; }
caption { text-align: left; font-weight: bold; }
"""
_DIGEST = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
# The page loads, runs, sends and frames nothing; its one style is allowed by its digest.
POLICY = f"default-src 'none'; style-src 'sha256-{_DIGEST}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


def page(openapi: dict) -> str:
    """The HTML for the OpenAPI document that is served beside it as openapi.json. Serve it with POLICY."""
    info = openapi["info"]
    operations = [(method, path, operation) for path, methods in openapi["paths"].items()
                  for method, operation in methods.items()]
    groups = groupby(operations, key=lambda found: found[2]["tags"][0])
    inside = "".join(f"<h2>{escape(tag)}</h2>{''.join(_operation(openapi, *found) for found in group)}"
                     for tag, group in groups)
    return (f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(info["title"])}</title>'
            f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body><main>'
            f"<h1>{escape(info['title'])} {escape(info['version'])}</h1>{_text(info['description'])}"
            f'<p>For programs: <a href="openapi.json">openapi.json</a></p>{inside}</main></body></html>')


def _operation(openapi: dict, method: str, path: str, operation: dict) -> str:
    id_ = escape(operation["operationId"])
    parameters = [(parameter["name"], f"{parameter['in']}, {_kind(parameter['schema'])}", parameter.get("description", ""))
                  for parameter in operation.get("parameters", ())]
    body = [(media_type, _kind(content["schema"]), _resolved(openapi, content["schema"]).get("description", ""))
            for media_type, content in operation.get("requestBody", {}).get("content", {}).items()]
    fields = [(name, _kind(schema), schema.get("description", ""))
              for content in operation.get("requestBody", {}).get("content", {}).values()
              for name, schema in _resolved(openapi, content["schema"]).get("properties", {}).items()]
    answers = [(status, ", ".join(answer.get("content", ())), answer["description"])
               for status, answer in operation["responses"].items()]
    tables = (("Parameters", parameters), ("Body", body + fields), ("Answers", answers))
    return (f'<section aria-labelledby="{id_}"><h3 id="{id_}"><code>{method.upper()} {escape(path)}</code></h3>'
            f"{_text(operation['summary'] + '. ' + operation.get('description', ''))}"
            f"{''.join(_table(*table) for table in tables if table[1])}</section>")


def _table(caption: str, lines: list[tuple[str, str, str]]) -> str:
    rows = "".join(f'<tr><th scope="row"><code>{escape(name)}</code></th><td>{escape(kind)}</td>'
                   f"<td>{_inline(said)}</td></tr>" for name, kind, said in lines)
    return f"<table><caption>{caption}</caption>{rows}</table>"


def _text(text: str) -> str:
    return f"<p>{_inline(text)}</p>"


def _inline(text: str) -> str:
    """The text with backquoted parts as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _kind(schema: dict) -> str:
    """What a value may be, in words."""
    if "$ref" in schema:
        return schema["$ref"].rpartition("/")[2]
    if "anyOf" in schema:
        return " or ".join(_kind(one) for one in schema["anyOf"])
    kind = " or ".join(map(str, schema["enum"])) if "enum" in schema else schema.get("type", "any value")
    bounds = [f"{word} {schema[name]}" for name, word in (
        ("minimum", "from"), ("maximum", "to"), ("minLength", "from length"), ("maxLength", "to length")) if name in schema]
    default = [f"else {schema['default']}"] if schema.get("default") is not None else []
    return ", ".join([kind, *bounds, *default])


def _resolved(openapi: dict, schema: dict) -> dict:
    return openapi["components"]["schemas"][_kind(schema)] if "$ref" in schema else schema
