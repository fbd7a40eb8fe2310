"""OpenAI's API, driven by the real client package and by plain requests, with untrained models."""

import json
import shutil
import threading
import time
from base64 import b64decode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import openai
import pytest
import torch

from hark.models import shipped_folder
from hark.serve.admission import add_key
from hark.serve.continuing import EmbeddingJob
from hark.serve.settings import ServeSettings
from hark.serve.texts import RunningGenerator
from hark.tasks.embed import embed
from hark.tasks.encoder import LoadedEncoder
from hark.tasks.generate import Generator
from tests.engine.test_one_stack import next_logits
from tests.serve.conftest import TestServer, start, wait_until_ready
from tests.tasks.decoders import make_one_stack

PROMPTS = ["Once upon a time", "The house", "It was a long day, and the cat sat on the mat again."]
LONG = "context_length_exceeded"
TEXTS = ["The cat sat on the mat.", "", "A house.", "A house."]
StartWith = Callable[..., TestServer]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models of one stack: a decoder and an encoder."""
    place = tmp_path_factory.mktemp("models")
    make_one_stack(place / "gpt")
    make_one_stack(place / "bert", "encoder")
    make_one_stack(place / "t5", "encoder-decoder", "model.positions=relative", "model.norm_kind=rms")
    return place


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[TestServer]:
    started = wait_until_ready(start(ServeSettings(models=folder)))
    yield started
    started.stop()


@pytest.fixture
def start_with(folder: Path) -> Iterator[StartWith]:
    """Starts servers of these models with other settings."""
    started: list[TestServer] = []

    def start_one(models: Path = folder, **settings: Any) -> TestServer:
        started.append(wait_until_ready(start(ServeSettings(models=models, **settings))))
        return started[-1]

    yield start_one
    for each in started:
        each.stop()


@pytest.fixture(scope="module")
def generator(folder: Path) -> Generator:
    return Generator(folder / "gpt", "cpu")


def client_of(server: TestServer, key: str = "any") -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{server.url}/v1", api_key=key, max_retries=0)


@pytest.fixture(scope="module")
def client(server: TestServer) -> openai.OpenAI:
    return client_of(server)


def complete(client: openai.OpenAI, prompt: Any, **options: Any) -> Any:
    return client.completions.create(model="gpt", prompt=prompt, **options)


def joined(pieces: Any) -> dict[int, str]:
    """The text of each choice of a stream."""
    texts: dict[int, str] = {}
    for piece in pieces:
        for choice in piece.choices:
            texts[choice.index] = texts.get(choice.index, "") + choice.text
    return texts


def test_models_are_listed(client: openai.OpenAI) -> None:
    assert sorted(each.id for each in client.models.list()) == ["bert", "gpt", "t5"]
    assert client.models.retrieve("gpt").owned_by == "hark"
    with pytest.raises(openai.NotFoundError, match="does not exist"):
        client.models.retrieve("gpt-5")


def test_a_completion_is_that_of_the_generator(client: openai.OpenAI, generator: Generator) -> None:
    answer = complete(client, PROMPTS[0], max_tokens=12, seed=3, temperature=0.8, top_p=0.9, extra_body={"top_k": 40})
    ((own,),) = generator.generate(PROMPTS[:1], max_tokens=12, seed=3, temperature=0.8, top_p=0.9, top_k=40)
    [choice] = answer.choices
    assert (answer.object, answer.model, choice.text, choice.logprobs) == ("text_completion", "gpt", own.text, None)
    assert choice.finish_reason == ("length" if own.ending == "length" else "stop")
    usage, tokens = answer.usage, len(generator.vocabulary.encode_one(PROMPTS[0]))
    assert usage.prompt_tokens == tokens
    assert 0 < usage.completion_tokens <= 12
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens
    assert complete(client, PROMPTS[0]).usage.completion_tokens <= 16  # the default


def test_a_model_that_makes_another_text(client: openai.OpenAI, folder: Path) -> None:
    answer = client.completions.create(model="t5", prompt="The house", temperature=0, max_tokens=8, logprobs=2)
    generator = Generator(folder / "t5", "cpu")
    ((own,),) = generator.generate(["The house"], max_tokens=8)
    assert answer.choices[0].text == own.text
    assert answer.usage is not None
    assert answer.usage.prompt_tokens == len(generator.vocabulary.encode_one("The house")) + 1
    chances = answer.choices[0].logprobs
    assert chances is not None
    assert len(chances.tokens or ()) == answer.usage.completion_tokens


def test_several_prompts_and_samples(client: openai.OpenAI, generator: Generator) -> None:
    answer = complete(client, PROMPTS, n=2, max_tokens=10, seed=5)
    own = generator.generate(PROMPTS, n=2, max_tokens=10, seed=5, temperature=1.0, top_p=1.0)
    assert [each.text for each in answer.choices] == [each.text for texts in own for each in texts]
    assert [each.index for each in answer.choices] == list(range(6))
    assert answer.usage.prompt_tokens == sum(len(generator.vocabulary.encode_one(each)) for each in PROMPTS)
    streamed = complete(client, PROMPTS, n=2, max_tokens=10, seed=5, stream=True)
    assert joined(streamed) == {each.index: each.text for each in answer.choices}


@pytest.mark.parametrize("options", [{"temperature": 0}, {"seed": 8}, {"seed": 8, "echo": True}])
def test_streamed_pieces_are_the_text(client: openai.OpenAI, options: dict[str, Any]) -> None:
    whole = complete(client, PROMPTS[0], max_tokens=30, **options)
    pieces = list(
        complete(client, PROMPTS[0], max_tokens=30, stream=True, stream_options={"include_usage": True}, **options)
    )
    assert joined(pieces) == {0: whole.choices[0].text}
    assert len(pieces) > 5
    assert {each.id for each in pieces} == {pieces[0].id}
    assert pieces[-1].usage == whole.usage
    endings = [choice.finish_reason for each in pieces for choice in each.choices]
    assert {*endings[:-1]} == {None}
    assert endings[-1] == whole.choices[0].finish_reason
    assert whole.choices[0].text.startswith(PROMPTS[0]) == ("echo" in options)


def test_a_stream_ends_as_clients_expect(server: TestServer) -> None:
    answer = server.post("/v1/completions", json={"model": "gpt", "prompt": "The", "stream": True})
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = answer.text.removesuffix("\n\n").split("\n\n")
    assert events[-1] == "data: [DONE]"
    assert all(json.loads(each.removeprefix("data: "))["choices"] for each in events[:-1])


@pytest.mark.parametrize("logprobs", [None, 2])
def test_stop_strings(client: openai.OpenAI, logprobs: int | None) -> None:
    options: dict[str, Any] = {"max_tokens": 40, "temperature": 0, "logprobs": logprobs}
    whole = complete(client, PROMPTS[0], **options).choices[0].text
    stop = whole[9:14]  # begins and ends within tokens
    answer = complete(client, PROMPTS[0], stop=["never", stop], **options)
    [choice] = answer.choices
    assert (choice.text, choice.finish_reason) == (whole[: whole.find(stop)], "stop")
    assert answer.usage.completion_tokens < 40
    assert joined(complete(client, PROMPTS[0], stop=stop, stream=True, **options)) == {0: choice.text}
    if logprobs:
        assert choice.logprobs.text_offset[-1] < len(choice.text)
        assert "".join(choice.logprobs.tokens).startswith(choice.text)


def test_logprobs_are_those_of_the_model(client: openai.OpenAI, generator: Generator) -> None:
    vocabulary, model = generator.vocabulary, generator.engine.model  # type: ignore[attr-defined]
    [choice] = complete(client, PROMPTS[0], max_tokens=8, temperature=0, logprobs=3).choices
    found = choice.logprobs
    tokens = [vocabulary.special.start, *vocabulary.encode_one(PROMPTS[0])]
    for chosen, best in zip(found.token_logprobs, found.top_logprobs, strict=True):
        logits_V = next_logits(model, tokens)[-1]
        log_probs_V = logits_V.log_softmax(-1)
        logits_V[[*vocabulary.special.forbidden]] = -float("inf")
        tokens.append(int(logits_V.argmax()))
        assert chosen == pytest.approx(float(log_probs_V[tokens[-1]]), abs=1e-4)
        torch.testing.assert_close(
            torch.tensor(sorted(best.values(), reverse=True)[:3]), log_probs_V.topk(3).values, atol=1e-4, rtol=0
        )
    assert "".join(found.tokens) == choice.text
    assert [choice.text[start:].startswith(token) for start, token in zip(found.text_offset, found.tokens, strict=True)]
    *_, last = complete(client, PROMPTS[0], max_tokens=8, temperature=0, logprobs=3, stream=True)
    assert last.choices[0].logprobs == found
    [bare] = complete(client, PROMPTS[0], max_tokens=8, temperature=0, logprobs=0).choices
    assert [list(each.values()) for each in bare.logprobs.top_logprobs] == [[each] for each in found.token_logprobs]


@pytest.mark.parametrize("text_start", [True, False])
def test_prompts_are_scored(
    client: openai.OpenAI, generator: Generator, text_start: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    vocabulary, model = generator.vocabulary, generator.engine.model  # type: ignore[attr-defined]
    if not text_start:  # as GPT-2
        monkeypatch.setattr(type(vocabulary), "text_start", None)
    inputs = [vocabulary.special.start] if text_start else []
    tokens = [*inputs, *vocabulary.encode_one(PROMPTS[2])]
    [choice] = complete(client, PROMPTS[2], max_tokens=0, echo=True, logprobs=3).choices
    found = choice.logprobs
    assert (choice.text, choice.finish_reason) == (PROMPTS[2], "length")
    if not text_start:
        assert found.token_logprobs.pop(0) is found.top_logprobs.pop(0) is None
    log_prob_TV = next_logits(model, tokens[:-1]).log_softmax(-1)
    expected = log_prob_TV.gather(1, torch.tensor(tokens[1:])[:, None]).squeeze(1)
    torch.testing.assert_close(torch.tensor(found.token_logprobs), expected, atol=1e-4, rtol=0)
    best = torch.tensor([sorted(each.values(), reverse=True)[:3] for each in found.top_logprobs])
    torch.testing.assert_close(best, log_prob_TV.topk(3).values, atol=1e-4, rtol=0)
    ends = [*found.text_offset[1:], len(PROMPTS[2])]
    parts = [PROMPTS[2][start:end] for start, end in zip(found.text_offset, ends, strict=True)]
    assert [each.strip() for each in parts] == [each.strip() for each in found.tokens]
    assert complete(client, PROMPTS[2], max_tokens=0, echo=True).choices[0].logprobs is None

    options: dict[str, Any] = {"max_tokens": 6, "temperature": 0, "logprobs": 3}
    [plain] = complete(client, PROMPTS[2], **options).choices
    [echoed] = complete(client, PROMPTS[2], echo=True, **options).choices
    [*_, streamed] = complete(client, PROMPTS[2], echo=True, stream=True, **options)
    assert echoed.text == PROMPTS[2] + plain.text
    assert streamed.choices[0].logprobs == echoed.logprobs
    n = len(tokens) - len(inputs)
    assert echoed.logprobs.tokens == found.tokens + plain.logprobs.tokens
    assert echoed.logprobs.text_offset[:n] == found.text_offset
    assert echoed.logprobs.text_offset[n:] == [len(PROMPTS[2]) + each for each in plain.logprobs.text_offset]
    assert echoed.logprobs.token_logprobs[n:] == pytest.approx(plain.logprobs.token_logprobs, abs=1e-4)


class Gate:
    """Lets an engine take only so many steps."""

    def __init__(self, engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.allowed, step = threading.Semaphore(0), engine.step
        self.steps = 0

        def wait() -> Any:
            self.allowed.acquire()
            self.steps += 1
            return step()

        monkeypatch.setattr(engine, "step", wait)


def wait_for(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.005)


def test_a_client_that_hangs_up_frees_its_place(start_with: StartWith, monkeypatch: pytest.MonkeyPatch) -> None:
    server = start_with()
    client = client_of(server)
    complete(client, "x")
    [running] = (each for each in server.service.shelf.running if each.name == "gpt")
    assert isinstance(running, RunningGenerator)
    engine: Any = running.generator.engine
    gate = Gate(engine, monkeypatch)
    gate.allowed.release(8)
    stream = complete(client, PROMPTS[0], max_tokens=40, temperature=0, stream=True)
    assert next(iter(stream)).choices[0].text
    assert (server.service.jobs, running.open) == (1, 1)
    stream.close()
    wait_for(lambda: server.service.counts.cancelled == 1)
    assert server.service.jobs == running.open == 0
    gate.allowed.release(1000)
    assert complete(client, PROMPTS[1], max_tokens=2, temperature=0)
    assert gate.steps < 20
    assert engine.scheduler.running == 0
    assert running.generator.running == {}
    assert "hark_cancelled_requests_total 1" in server.get("/metrics").text


def test_an_engine_that_fails_is_replaced(start_with: StartWith, monkeypatch: pytest.MonkeyPatch) -> None:
    server = start_with()
    client = client_of(server)
    whole = complete(client, "x", seed=1).choices
    [running] = (each for each in server.service.shelf.running if each.name == "gpt")
    assert isinstance(running, RunningGenerator)
    monkeypatch.setattr(running.generator.engine, "step", lambda: 1 / 0)
    with pytest.raises(openai.InternalServerError, match="the engine failed; the request is not at fault"):
        complete(client, "x")
    assert complete(client, "x", seed=1).choices == whole


def test_a_client_that_does_not_read_stops_no_other(server: TestServer, client: openai.OpenAI) -> None:
    body = json.dumps({"model": "gpt", "prompt": PROMPTS, "n": 20, "max_tokens": 40, "stream": True}).encode()
    with server.connect() as lazy:
        head = f"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n"
        lazy.sendall(head.encode() + b"Content-Type: application/json\r\n\r\n" + body)
        assert complete(client, PROMPTS[0], max_tokens=40).choices


@pytest.mark.parametrize("form", ["float", "base64", None])
def test_embeddings_are_those_of_the_task(client: openai.OpenAI, folder: Path, form: Any) -> None:
    own = np.stack(list(embed(LoadedEncoder(folder / "bert", "cpu"), TEXTS)))
    given = {"encoding_format": form} if form else {}
    answer = client.embeddings.create(model="bert", input=TEXTS, **given)
    vectors: Any = [each.embedding for each in answer.data]
    if form == "base64":
        vectors = [np.frombuffer(b64decode(each), "<f4") for each in vectors]
    np.testing.assert_allclose(np.array(vectors), own, atol=1e-6)
    assert [each.index for each in answer.data] == [0, 1, 2, 3]
    assert answer.usage.prompt_tokens == answer.usage.total_tokens > len(TEXTS)
    single = client.embeddings.create(model="bert", input=TEXTS[0], **given)
    assert len(single.data) == 1


@pytest.mark.parametrize(
    ("path", "fields", "status", "code", "message"),
    [
        ("completions", {"model": None}, 400, None, "model is missing"),
        ("completions", {"model": "gpt-5"}, 404, "model_not_found", "the model gpt-5 does not exist"),
        ("completions", {"model": "bert"}, 400, None, "the model bert is for /v1/embeddings, not for /v1/completions"),
        ("embeddings", {"model": "gpt", "input": "x"}, 400, None, "is for /v1/completions"),
        ("completions", {"prompt": None}, 400, None, "prompt is missing"),
        ("completions", {"prompt": []}, 400, None, "prompt is empty"),
        ("completions", {"prompt": [1, 2]}, 400, None, "prompt must be a string or a list of strings"),
        ("completions", {"prompt": "word " * 80}, 400, LONG, "prompt has 241 tokens, but the model has 64 positions"),
        ("completions", {"prompt": "word " * 80, "stream": True}, 400, LONG, "prompt has"),
        ("completions", {"prompt": "word " * 80, "echo": True, "max_tokens": 0, "logprobs": 1}, 400, LONG, "prompt"),
        ("completions", {"model": "t5", "echo": True}, 400, None, "echo: t5 makes another text of the prompt"),
        ("completions", {"model": "t5", "echo": True, "max_tokens": 0}, 400, None, "echo: t5 makes another text"),
        ("completions", {"prompt": "x" * 60_000}, 413, None, "60,000 characters are too many"),
        ("completions", {"max_tokens": 0}, 400, None, "max_tokens must be a whole number from 1 to 4,096"),
        ("completions", {"temperature": 2.5}, 400, None, "temperature must be a number from 0 to 2"),
        ("completions", {"top_p": 0}, 400, None, "top_p"),
        ("completions", {"n": 2, "temperature": 0}, 400, None, "n 2 requires a temperature above 0"),
        ("completions", {"n": 501}, 400, None, "n must be"),
        ("completions", {"n": 300, "prompt": ["a", "b"]}, 413, None, "600 texts are too many"),
        ("completions", {"stop": [""]}, 400, None, "stop must be"),
        ("completions", {"logprobs": True}, 400, None, "logprobs must be a whole number from 0 to 20"),
        ("completions", {"suffix": "x"}, 400, None, "suffix is not supported"),
        ("completions", {"presence_penalty": 0.5}, 400, None, "presence_penalty is not supported"),
        ("completions", {"beam": 4}, 400, None, "beam is not supported"),
        ("completions", {"stream_options": 1}, 400, None, "stream_options must be an object"),
        ("embeddings", {"input": []}, 400, None, "input is empty"),
        ("embeddings", {"input": [[1, 2]]}, 400, None, "input must be a string or a list of strings"),
        ("embeddings", {"input": ["a", "word " * 80]}, 400, None, "text 2 has"),
        ("embeddings", {"input": "a", "encoding_format": "hex"}, 400, None, "encoding_format must be float or base64"),
        ("embeddings", {"input": "a", "dimensions": 8}, 400, None, "dimensions is not supported"),
    ],
)
def test_refusals(
    server: TestServer, path: str, fields: dict[str, Any], status: int, code: str | None, message: str
) -> None:
    plain = {"model": "gpt", "prompt": "x"} if path == "completions" else {"model": "bert"}
    answer = server.post(f"/v1/{path}", json={**plain, **fields})
    error = answer.json()["error"]
    assert answer.status_code == status
    assert message in error["message"]
    assert error.keys() == {"message", "type", "param", "code"}
    assert (error["type"], error["code"]) == ("invalid_request_error", code)


def test_options_that_change_nothing_are_accepted(client: openai.OpenAI) -> None:
    given = {"frequency_penalty": 0, "presence_penalty": 0.0, "logit_bias": {}, "best_of": 1, "user": "me", "seed": 1}
    assert complete(client, "x", **given).choices[0].text == complete(client, "x", seed=1).choices[0].text


def test_keys_and_rates(start_with: StartWith, tmp_path: Path) -> None:
    keys = tmp_path / "keys.txt"
    key = add_key(keys, "alice")
    server = start_with(api_keys=keys, requests_per_minute=3)
    with pytest.raises(openai.AuthenticationError, match="Invalid API key") as refused:
        client_of(server, "wrong").models.list()
    assert refused.value.code == "invalid_api_key"
    client = client_of(server, key)
    assert len(list(client.models.list())) == 3
    assert client.embeddings.create(model="bert", input="x").data
    assert complete(client, "x").choices
    with pytest.raises(openai.RateLimitError) as slow:
        complete(client, "x")
    assert slow.value.code == "rate_limit_exceeded"
    assert slow.value.response.headers["retry-after"]
    assert '"key": "alice"' in server.log


def test_a_full_queue_is_told(start_with: StartWith) -> None:
    server = start_with(queue_characters=5)
    with (
        server.service.working(EmbeddingJob(("12345",))),
        pytest.raises(openai.InternalServerError, match="too many requests are waiting"),
    ):
        complete(client_of(server), "x")


def test_a_server_without_translators(server: TestServer) -> None:
    assert server.get("/api/v1/languages").json() == {"languages": []}
    assert server.get("/languages").json() == []
    answers = [
        server.post("/api/v1/translate", json={"text": "Hello", "target": "de"}),
        server.post("/translate", json={"q": "Hello", "source": "en", "target": "de"}),
        server.post("/v2/translate", json={"text": ["Hello"], "target_lang": "DE"}),
    ]
    assert [each.status_code for each in answers] == [400] * 3
    assert server.post("/api/v1/detect", json={"text": "Das Haus ist rot."}).status_code == 200
    assert server.post("/detect", json={"q": "12"}).status_code < 500
    assert server.get("/").status_code == 200


def test_translators_and_models_of_one_stack_together(start_with: StartWith, folder: Path, tmp_path: Path) -> None:
    for each in (*folder.iterdir(), next(each for each in shipped_folder().iterdir() if each.is_dir())):
        if (each / "manifest.json").exists():
            shutil.copytree(each, tmp_path / each.name)
    server = start_with(models=tmp_path)
    assert server.service.shelf.offered
    assert [each.name for each in server.service.shelf.running] == [each.name for each in server.service.shelf.offered]
    client = client_of(server)
    assert complete(client, "x").choices
    name = server.service.shelf.offered[0].name
    with pytest.raises(openai.NotFoundError, match=f"the model {name} translates"):
        client.completions.create(model=name, prompt="x")
    done = server.post("/translate", json={"q": "The house is old.", "source": "en", "target": "de"})
    assert done.json()["translatedText"]
    metrics = server.get("/metrics").text
    assert 'hark_open_texts{model="gpt"} 0' in metrics
    assert "hark_generated_tokens_total" in metrics
