"""The page at /docs: Swagger UI, which a browser loads from the internet, and in its place, where that is not reached, all
that it would say of the paths as plain text."""

from __future__ import annotations

from html import escape

from fastapi.openapi.docs import get_swagger_ui_html

HOLDER = '<div id="swagger-ui">'  # Swagger UI puts itself in the place of what is in it


def page(openapi: dict) -> str:
    """The HTML for an OpenAPI document that answers at /openapi.json."""
    html = get_swagger_ui_html(openapi_url="/openapi.json", title=openapi["info"]["title"]).body.decode()
    return html.replace(HOLDER, HOLDER + plain(openapi), 1)


def plain(openapi: dict) -> str:
    """Each path with its methods, what they do and what they take."""
    parts = [f"<h1>{escape(openapi['info']['title'])}</h1><p>All of it, for programs: "
             '<a href="/openapi.json">/openapi.json</a></p>']
    for path, methods in openapi["paths"].items():
        for method, operation in methods.items():
            parameters = ", ".join(parameter["name"] for parameter in operation.get("parameters", ()))
            takes = f"<p>Takes {escape(parameters)}.</p>" if parameters else ""
            parts.append(f"<h3><code>{method.upper()} {escape(path)}</code></h3><p>{escape(operation['summary'])}. "
                         f"{escape(operation.get('description', ''))}</p>{takes}")
    return "".join(parts)
