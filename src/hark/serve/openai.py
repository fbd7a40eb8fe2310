"""The API of OpenAI: /v1/completions, /v1/embeddings, /v1/models, and the errors that its clients know."""

import base64
import secrets
import time
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from hark.config import Shape
from hark.engine.interface import MOST_ALTERNATIVES, TooLongError
from hark.errors import MissingExtraError, UserError, require
from hark.models import InstalledModel
from hark.serve.bodies import CompactJson, Fields, Refusal, compact, read_json, refuse_with, shown
from hark.serve.continuing import EmbeddingJob, PromptJob, continue_prompts, embed
from hark.serve.service import Service
from hark.serve.settings import ServeSettings
from hark.serve.texts import Completion, shape_of
from hark.tasks.generate import GenerateOptions
from hark.tasks.text_writer import TokenChance

PATHS: dict[Shape, str] = {
    "decoder": "/v1/completions",
    "encoder-decoder": "/v1/completions",
    "encoder": "/v1/embeddings",
}
COMMON = frozenset({"model", "user"})
SAMPLING = frozenset({"max_tokens", "temperature", "top_k", "top_p", "min_p", "stop", "seed", "n"})
ANSWER = frozenset({"prompt", "stream", "stream_options", "logprobs", "echo"})
NEUTRAL: dict[str, Any] = {"suffix": "", "frequency_penalty": 0, "presence_penalty": 0, "logit_bias": {}, "best_of": 1}
"""Options that are not supported, and the values with which they change nothing."""
MAX_STOPS = 16
MAX_TEMPERATURE, MIN_TEMPERATURE = 2.0, 0.01
"""A lower temperature than the second, other than 0, divides logits by so little that they may overflow."""
MAX_SEED = 2**63 - 1
Piece = tuple[int, str | Completion]


class OpenAIRefusal(Refusal):
    """A refusal that names the field, and has a code, that programs may look for."""

    def __init__(self, status: int, message: str, param: str | None = None, code: str | None = None) -> None:
        super().__init__(status, message)
        self.param, self.code = param, code


def refuse(refusal: Refusal) -> Response:
    return refuse_with(refusal, error_of(refusal))


def error_of(refusal: Refusal) -> dict[str, Any]:
    kind = "invalid_request_error" if refusal.status < 500 else "server_error"
    code: str | None = None
    if refusal.status == 429:
        kind, code = "requests", "rate_limit_exceeded"
    param = None
    if isinstance(refusal, OpenAIRefusal):
        param, code = refusal.param, refusal.code
    elif isinstance(refusal.__cause__, TooLongError):
        param, code = "prompt", "context_length_exceeded"
    return {"error": {"message": refusal.message, "type": kind, "param": param, "code": code}}


def routes(service: Service, settings: ServeSettings) -> list[Route]:
    """The routes of this API. Keys are checked here, because its clients expect another status."""

    def admit(request: Request) -> None:
        try:
            service.admission.admit(request)
        except Refusal as refusal:
            if refusal.status == 403:
                raise OpenAIRefusal(401, refusal.message, code="invalid_api_key") from None
            raise

    async def models(request: Request) -> Response:
        admit(request)
        return CompactJson({"object": "list", "data": [describe(each) for each in service.shelf.texts.values()]})

    async def model(request: Request) -> Response:
        admit(request)
        return CompactJson(describe(find_model(service, request.path_params["name"])))

    async def completions(request: Request) -> Response:
        admit(request)
        fields = await read_json(request)
        found = find_model(service, fields.text("model"), "decoder")
        asked = read_prompts(fields, settings)
        if asked.echo and shape_of(found.folder) == "encoder-decoder":
            raise OpenAIRefusal(400, f"echo: {found.name} makes another text of the prompt; leave it out", "echo")
        answer = CompletionAnswer(found.name, asked, includes_usage(fields))
        work = continue_prompts(service, found, asked)
        if asked.stream:
            first = await anext(work)  # before the status is sent
            return EventStream(answer.events(first, work), work)
        return CompactJson(answer.whole({number: each async for number, each in work}))

    async def embeddings(request: Request) -> Response:
        admit(request)
        fields = await read_json(request)
        check_names(fields, COMMON | {"input", "encoding_format"})
        found = find_model(service, fields.text("model"), "encoder")
        texts = read_texts(fields, "input", settings)
        form = fields.text("encoding_format") or "float"
        if form not in ("float", "base64"):
            raise OpenAIRefusal(400, "encoding_format must be float or base64", "encoding_format")
        done = await embed(service, found, EmbeddingJob(tuple(texts)))
        vectors = (
            vector.tolist() if form == "float" else base64.b64encode(vector.astype("<f4").tobytes()).decode()
            for vector in done.vectors
        )
        listed = [{"object": "embedding", "index": i, "embedding": vector} for i, vector in enumerate(vectors)]
        usage = {"prompt_tokens": done.tokens, "total_tokens": done.tokens}
        return CompactJson({"object": "list", "data": listed, "model": found.name, "usage": usage})

    return [
        Route("/v1/models", models),
        Route("/v1/models/{name}", model),
        Route("/v1/completions", completions, methods=["POST"]),
        Route("/v1/embeddings", embeddings, methods=["POST"]),
    ]


def describe(model: InstalledModel) -> dict[str, Any]:
    try:
        created = int(model.folder.stat().st_mtime)
    except OSError:
        created = 0
    return {"id": model.name, "object": "model", "created": created, "owned_by": "hark"}


def find_model(service: Service, name: str | None, shape: Shape | None = None) -> InstalledModel:
    """The model of a name; a refusal if there is none, or it has another shape."""
    if not name:
        raise OpenAIRefusal(400, "model is missing", "model")
    found = service.shelf.texts.get(name)
    if found is None:
        translates = any(model.name == name for model in service.shelf.offered)
        problem = "translates; use /api/v1/translate" if translates else "does not exist; /v1/models lists all"
        raise OpenAIRefusal(404, f"the model {shown(name)} {problem}", "model", "model_not_found")
    own = shape_of(found.folder)
    if shape is not None and PATHS[own] != PATHS[shape]:
        raise OpenAIRefusal(400, f"the model {name} is for {PATHS[own]}, not for {PATHS[shape]}", "model")
    try:
        require("torch", "train", "models of one stack")
    except MissingExtraError as error:
        raise Refusal(501, str(error)) from None
    return found


def read_prompts(fields: Fields, settings: ServeSettings) -> PromptJob:
    check_names(fields, COMMON | SAMPLING | ANSWER | NEUTRAL.keys())
    for name, neutral in NEUTRAL.items():
        if name in fields and fields.value(name) != neutral:
            raise OpenAIRefusal(400, f"{name} is not supported", name)
    prompts, stop = read_texts(fields, "prompt", settings), fields.texts("stop") or []
    if len(stop) > MAX_STOPS or not all(stop) or sum(map(len, stop)) > settings.characters:
        raise OpenAIRefusal(400, f"stop must be at most {MAX_STOPS} strings that are not empty", "stop")
    temperature = number(fields, "temperature", 1.0, 0, MAX_TEMPERATURE)
    echo = fields.flag("echo")
    options = GenerateOptions(
        max_tokens=whole(fields, "max_tokens", 16, 0 if echo else 1, settings.tokens),
        temperature=max(temperature, MIN_TEMPERATURE) if temperature else 0.0,
        top_k=whole(fields, "top_k", 0, 0, 10**6),
        top_p=number(fields, "top_p", 1.0, 0, 1),
        min_p=number(fields, "min_p", 0.0, 0, 1),
        stop=tuple(stop),
        seed=whole(fields, "seed", 0, 0, MAX_SEED) if "seed" in fields else None,
    )
    n = whole(fields, "n", 1, 1, settings.batch)
    if n * len(prompts) > settings.batch:
        raise Refusal(413, f"{n * len(prompts):,} texts are too many; the limit is {settings.batch:,}")
    alternatives = whole(fields, "logprobs", 0, 0, MOST_ALTERNATIVES) if "logprobs" in fields else None
    try:
        samples = tuple(options.samples(n))
        samples[0].search()
    except UserError as error:
        raise Refusal(400, str(error)) from None
    return PromptJob(tuple(prompts), samples, alternatives, echo, not options.max_tokens, fields.flag("stream"))


def read_texts(fields: Fields, name: str, settings: ServeSettings) -> list[str]:
    """A text or several, within the limits; not lists of tokens."""
    texts = fields.texts(name)
    if not texts:
        raise OpenAIRefusal(400, f"{name} is {'missing' if texts is None else 'empty'}", name)
    if len(texts) > settings.batch:
        raise Refusal(413, f"{len(texts):,} texts are too many; the limit is {settings.batch:,}")
    if (size := sum(map(len, texts))) > settings.characters:
        raise Refusal(413, f"{size:,} characters are too many; the limit is {settings.characters:,}")
    return texts


def check_names(fields: Fields, known: frozenset[str]) -> None:
    """Refuse fields that would otherwise be ignored, although they may change the answer."""
    if unknown := sorted(fields.names - known):
        raise OpenAIRefusal(400, f"{shown(unknown[0])} is not supported", shown(unknown[0]))


def number(fields: Fields, name: str, default: float, low: float, high: float) -> float:
    value = fields.value(name, "a number")
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise OpenAIRefusal(400, f"{name} must be a number from {low:,} to {high:,}", name)
    return float(value)


def whole(fields: Fields, name: str, default: int, low: int, high: int) -> int:
    value = fields.value(name, "a whole number")
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise OpenAIRefusal(400, f"{name} must be a whole number from {low:,} to {high:,}", name)
    return value


def includes_usage(fields: Fields) -> bool:
    """Whether a stream ends with the number of tokens."""
    given = fields.value("stream_options", "an object")
    if given is None:
        return False
    if not isinstance(given, dict):
        raise OpenAIRefusal(400, "stream_options must be an object", "stream_options")
    return Fields.of(given, exact=True).flag("include_usage")


@dataclass(frozen=True)
class CompletionAnswer:
    """Words the answer to a request for completions."""

    model: str
    asked: PromptJob
    with_usage: bool

    def whole(self, done: dict[int, Completion | str]) -> dict[str, Any]:
        completions = [each for _, each in sorted(done.items()) if isinstance(each, Completion)]
        choices = [self.choice(i, self.echoed(i) + each.generated.text, each) for i, each in enumerate(completions)]
        return {**self.head(), "choices": choices, "usage": self.usage(completions)}

    async def events(self, first: Piece, work: AsyncGenerator[Piece, None]) -> AsyncGenerator[bytes, None]:
        """Server-sent events. What is told of tokens comes with the end of their text."""
        head, done = self.head(), dict[int, Completion]()
        if self.asked.echo:
            for i in range(len(self.asked.prompts) * len(self.asked.samples)):
                yield event({**head, "choices": [self.choice(i, self.echoed(i))]})
        try:
            async for i, each in preceded(first, work):
                if isinstance(each, str):
                    yield event({**head, "choices": [self.choice(i, each)]})
                else:
                    done[i] = each
                    yield event({**head, "choices": [self.choice(i, "", each)]})
        except Refusal as refusal:
            yield event(error_of(refusal))
            return
        if self.with_usage:
            yield event({**head, "choices": [], "usage": self.usage([done[i] for i in sorted(done)])})
        yield b"data: [DONE]\n\n"

    def head(self) -> dict[str, Any]:
        name = f"cmpl-{secrets.token_hex(12)}"
        return {"id": name, "object": "text_completion", "created": int(time.time()), "model": self.model}

    def echoed(self, index: int) -> str:
        return self.asked.prompts[index // len(self.asked.samples)] if self.asked.echo else ""

    def choice(self, index: int, text: str, done: Completion | None = None) -> dict[str, Any]:
        """`done`: the completion that ends with this text."""
        ending = done and ("length" if done.generated.ending == "length" else "stop")
        chances = None if done is None or done.chances is None else logprobs(done.chances)
        return {"text": text, "index": index, "logprobs": chances, "finish_reason": ending}

    def usage(self, done: Sequence[Completion]) -> dict[str, int]:
        prompts = sum(each.prompt_tokens for each in done[:: len(self.asked.samples)])
        generated = sum(each.tokens for each in done)
        return {"prompt_tokens": prompts, "completion_tokens": generated, "total_tokens": prompts + generated}


def logprobs(chances: Sequence[TokenChance]) -> dict[str, Any]:
    return {
        "tokens": [each.text for each in chances],
        "token_logprobs": [each.log_prob for each in chances],
        "top_logprobs": [
            None if each.log_prob is None else {**each.alternatives, each.text: each.log_prob} for each in chances
        ],
        "text_offset": [each.offset for each in chances],
    }


async def preceded(first: Piece, work: AsyncGenerator[Piece, None]) -> AsyncGenerator[Piece, None]:
    yield first
    async for each in work:
        yield each


def event(data: dict[str, Any]) -> bytes:
    return f"data: {compact(data)}\n\n".encode()


class EventStream(StreamingResponse):
    """Server-sent events. Stops the work when they end, also if the client hangs up before it has read the first."""

    def __init__(self, events: AsyncGenerator[bytes, None], work: AsyncGenerator[Piece, None]) -> None:
        super().__init__(events, media_type="text/event-stream")
        self._work = work

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._work.aclose()
