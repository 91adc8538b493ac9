"""The page at /docs has all of the OpenAPI document, and nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import re
from html import escape
from html.parser import HTMLParser

import pytest

from api.rest.docs_page import page

pytestmark = pytest.mark.services
LOADING = {"src", "srcset", "href", "action", "data", "poster", "style", "onload", "onclick"}


class Seen(HTMLParser):
    """The elements of a page, and the values of attributes that load or run something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.loaded: list[str | None] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.loaded += [value for name, value in attrs if name in LOADING]


@pytest.fixture
def docs(client):
    return client.get("/docs")


def test_it_names_no_other_host_and_runs_nothing(docs):
    seen = Seen(docs.text)
    assert docs.headers["content-type"] == "text/html; charset=utf-8"
    assert seen.loaded == ["openapi.json"]
    assert not seen.elements & {"script", "link", "img", "iframe", "object", "form", "base"}
    assert "//" not in docs.text
    assert not re.search(r"@import|url\(", docs.text)


def test_its_policy_lets_its_own_style_in_alone(docs):
    style, = re.findall(r"<style>(.*?)</style>", docs.text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = dict(part.split(" ", 1) for part in docs.headers["content-security-policy"].split("; "))
    assert policy == {"default-src": "'none'", "style-src": f"'sha256-{digest}'", "base-uri": "'none'",
                      "form-action": "'none'", "frame-ancestors": "'none'"}


def test_it_says_all_that_the_document_says(client, docs):
    for path, methods in client.get("/openapi.json").json()["paths"].items():
        for method, operation in methods.items():
            _, _, after = docs.text.partition(f'<h3 id="{operation["operationId"]}">')
            section = after.partition("</section>")[0]
            assert section.startswith(f"<code>{method.upper()} {path}</code>")
            names = [parameter["name"] for parameter in operation.get("parameters", ())]
            for name in [*names, *operation["responses"], *operation.get("requestBody", {}).get("content", ())]:
                assert f"<code>{escape(name)}</code>" in section, (path, name)
            assert escape(operation["summary"]) in section


def test_fields_of_a_body_stand_with_their_bounds(docs):
    assert "<code>name</code></th><td>string, from length 1, to length 200</td>" in docs.text
    assert "<td>query, asc or desc, else asc</td>" in docs.text


def test_what_it_says_is_text_and_no_html():
    evil = "<script>`<b>`</script>"
    openapi = {"info": {"title": evil, "version": evil, "description": evil},
               "paths": {f"/{evil}": {"get": {"operationId": f'"{evil}', "tags": [evil], "summary": evil, "responses": {}}}}}
    assert Seen(page(openapi)).elements.isdisjoint({"script", "b"})
