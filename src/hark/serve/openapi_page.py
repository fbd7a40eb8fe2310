"""A page that shows an OpenAPI description, without any script."""

import json
from html import escape

from hark.serve.native import EVENTS
from hark.serve.schemas import Schema


def render(description: Schema) -> str:
    shown = "".join(
        f"<section><h2><b>{method.upper()}</b> <code>{escape(path)}</code></h2><p>{escape(operation['summary'])}.</p>"
        f"{fields_table(operation)}{answers_table(operation)}</section>"
        for path, operations in description["paths"].items()
        for method, operation in operations.items()
    )
    types = "".join(
        f'<h3 id="{name}">{name}</h3><pre>{escape(json.dumps(schema, indent=1))}</pre>'
        for name, schema in description["components"]["schemas"].items()
    )
    return (
        '<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>Hark: API</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="stylesheet" href="docs/docs.css">'
        f"<main><h1>Hark: API</h1><p>{escape(description['info']['description'])}</p>"
        '<p>The description for programs: <a href="api/v1/openapi.json">openapi.json</a>.</p>'
        f"{shown}<section><h2>Types</h2>{types}</section></main></html>\n"
    )


def fields_table(operation: Schema) -> str:
    """The fields of the body, or the parameters of a GET."""
    fields = {
        parameter["name"]: (parameter["schema"], parameter["required"]) for parameter in operation.get("parameters", ())
    }
    if "requestBody" in operation:
        [content] = operation["requestBody"]["content"].values()
        schema = content["schema"]
        fields |= {name: (field, name in schema["required"]) for name, field in schema["properties"].items()}
    if not fields:
        return ""
    rows = "".join(
        f"<tr><td><code>{name}</code>{' *' if required else ''}</td><td>{kind_of(field)}</td>"
        f"<td>{escape(field.get('description', ''))}</td></tr>"
        for name, (field, required) in fields.items()
    )
    return f"<table><tr><th>field</th><th>type</th><th></th></tr>{rows}</table><p>* required</p>"


def answers_table(operation: Schema) -> str:
    rows = "".join(
        f"<tr><td>{status}</td><td>{escape(answer['description'])}</td><td>{answer_type(answer)}</td></tr>"
        for status, answer in operation["responses"].items()
    )
    return f"<table><tr><th>status</th><th></th><th>answer</th></tr>{rows}</table>"


def kind_of(field: Schema) -> str:
    if "enum" in field:
        return escape(" or ".join(field["enum"]))
    if "oneOf" in field:
        return " or ".join(kind_of(kind) for kind in field["oneOf"])
    if field.get("type") == "array":
        return "list of " + kind_of(field["items"])
    kind = field.get("type", "")
    return escape(" or ".join(kind) if isinstance(kind, list) else kind)


def answer_type(answer: Schema) -> str:
    if "application/json" not in answer.get("content", {}):
        [kind] = answer.get("content", {"nothing": {}})
        return "events" if kind == EVENTS else escape(kind)
    name = answer["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    return f'<a href="#{name}">{name}</a>'
