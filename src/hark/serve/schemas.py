"""Parts that the OpenAPI descriptions have in common."""

from typing import Any

Schema = dict[str, Any]
STRING: Schema = {"type": "string"}
STRINGS: Schema = {"type": "array", "items": STRING}
TEXT: Schema = {"type": "string", "pattern": "^[^\\x00]*$"}
COUNT: Schema = {"type": "integer", "minimum": 0}
REFUSALS = {
    400: "The request is invalid; the message says why.",
    403: "The API key is missing or invalid.",
    408: "The body came too slowly.",
    413: "The text, the number of texts or the body is too large.",
    421: "The server does not answer for this host name; see --allowed-host.",
    429: "Too many requests of one client; see the header Retry-After.",
    500: "The engine failed; the request may be sent again.",
}
"""What statuses mean in all APIs."""


def record(fields: Schema) -> Schema:
    return {"type": "object", "properties": fields, "required": list(fields)}


def items(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def json_content(schema: Schema) -> Schema:
    return {"application/json": {"schema": schema}}


def body(fields: Schema, *required: str, kind: str = "application/json") -> Schema:
    schema = {"type": "object", "properties": fields, "required": [*required]}
    return {"required": True, "content": {kind: {"schema": schema}}}


def query(name: str, schema: Schema, required: bool = True) -> Schema:
    return {"name": name, "in": "query", "required": required, "schema": schema}


def in_path(name: str, schema: Schema) -> Schema:
    return query(name, schema) | {"in": "path"}


def refusals(meanings: dict[int, str], error: str) -> Schema:
    """The answers that refuse a request; `error` is their type."""
    content = json_content(ref(error))
    return {str(status): {"description": meaning, "content": content} for status, meaning in meanings.items()}
