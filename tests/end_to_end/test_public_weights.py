"""Models that others have published: imported with the real command, equal to independent oracles, and of use.

tools/public_weights downloads them once, and these tests are skipped where it cannot.
"""

import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import ctranslate2
import numpy as np
import pytest
import sentencepiece
import torch
from tools.public_weights import get

from hark.bundle import Bundle
from hark.cli import main
from hark.errors import UserError
from hark.model.weights import load_one_stack
from hark.tasks.encoder import LoadedEncoder
from hark.tasks.generate import Generator
from hark.text.opening import open_vocabularies
from hark.text.vocabulary import Vocabulary
from hark.weights import Array
from tests.cli.running import figures, make_runner

transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")
Hark = Callable[..., "subprocess.CompletedProcess[str]"]
ENGLISH = (
    "The capital of France is", "Once upon a time", "Water boils at", "def add(a, b):\n    return", "Dear Sir,",
    "1, 2, 3, 4,", "The quick brown fox", "Ünïcode: 你好 🙂\n\n  and 12345",
)  # fmt: skip


@pytest.fixture
def hark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Hark:
    return lambda verb, *words: make_runner(verb, tmp_path, {}, monkeypatch, capfd)(*words)


@pytest.fixture(scope="module")
def bundle_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Bundle]:
    """Imports a model at its first use."""
    folder = tmp_path_factory.mktemp("public")
    opened: dict[str, Bundle] = {}

    def bundle_of(name: str, *options: str) -> Bundle:
        if name not in opened:
            words = ["hark", "import", str(source(name)), "-o", str(folder / name), *options]
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(sys, "argv", words)
                with pytest.raises(SystemExit) as left:
                    main()
            assert not left.value.code
            opened[name] = Bundle.open(folder / name)
        return opened[name]

    return bundle_of


def source(name: str) -> Path:
    try:
        return get(name)
    except UserError as error:
        pytest.skip(str(error))


def our_logits(bundle: Bundle, ids: Sequence[int]) -> Array:
    model = load_one_stack(bundle)
    with torch.inference_mode():
        return model(torch.tensor([ids]), model.padded_layout({"target": torch.tensor([len(ids)])}))[0].numpy()


def vocabulary_of(bundle: Bundle) -> Vocabulary:
    return open_vocabularies(bundle)[1]


# SmolLM2, from a GGUF file


CODES = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
BLOCKS = {
    0: np.dtype([("numbers", "<f4", 1)]),
    3: np.dtype([("scale", "<f2"), ("least", "<f2"), ("pairs", "u1", 16)]),
    8: np.dtype([("scale", "<f2"), ("numbers", "i1", 32)]),
}
"""F32, Q4_1 and Q8_0, as the description of the format has them."""
NAMES = {
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj", "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
    "token_embd": "embed_tokens", "output_norm": "norm",
}  # fmt: skip


class Gguf(NamedTuple):
    about: dict[str, Any]
    tensors: dict[str, Array]


def read_gguf(path: Path) -> Gguf:
    """The whole file, by a reader that has nothing in common with hark's."""
    raw, place = bytearray(path.read_bytes()), 8

    def take(code: str) -> Any:
        nonlocal place
        (found,) = struct.unpack_from(f"<{code}", raw, place)
        place += struct.calcsize(f"<{code}")
        return found

    def value(kind: int) -> Any:
        if kind == 8:
            return take(f"{take('Q')}s").decode()
        if kind == 9:
            inner, count = take("I"), take("Q")
            return [value(inner) for _ in range(count)]
        return take(CODES[kind])

    tensors, entries = take("Q"), take("Q")
    about = {value(8): value(take("I")) for _ in range(entries)}
    infos = [(value(8), [take("Q") for _ in range(take("I"))], take("I"), take("Q")) for _ in range(tensors)]
    start = -(-place // 32) * 32
    found = {}
    for name, axes, kind, offset in infos:
        numbers = 1 if kind == 0 else 32
        blocks = np.frombuffer(raw, BLOCKS[kind], int(np.prod(axes)) // numbers, start + offset)
        if kind == 3:
            pairs = blocks["pairs"].astype(np.float32)
            values = np.hstack([pairs % 16, pairs // 16]) * blocks["scale"][:, None].astype(np.float32)
            values += blocks["least"][:, None]
        else:
            values = blocks["numbers"].astype(np.float32)
            values = values if kind == 0 else values * blocks["scale"][:, None].astype(np.float32)
        found[name] = values.reshape(axes[::-1])
    return Gguf(about, found)


def llama(tensors: Mapping[str, Array], **settings: Any) -> Any:
    """A Llama of transformers, with weights by the names of GGUF."""
    config = transformers.LlamaConfig(**settings, tie_word_embeddings=True)
    state = {}
    for name, array in tensors.items():
        *layer, module, part = name.removeprefix("blk.").split(".")
        if module in ("attn_q", "attn_k"):  # a half of each head is rotated against the other half, not neighbours
            array = array.reshape(-1, config.head_dim // 2, 2, array.shape[1]).swapaxes(1, 2).reshape(array.shape)
        prefix = f"model.layers.{layer[0]}" if layer else "model"
        state[f"{prefix}.{NAMES[module]}.{part}"] = torch.from_numpy(array)
    state["lm_head.weight"] = state["model.embed_tokens.weight"]
    model = transformers.LlamaForCausalLM.from_pretrained(None, config=config, state_dict=state, dtype=torch.float32)
    return model.eval()


def likeliest(model: Any, ids: Sequence[int]) -> list[int]:
    """What a model of transformers would write after each token."""
    with torch.inference_mode():
        return model(torch.tensor([ids])).logits[0].argmax(-1).tolist()


def smollm2_of_transformers(path: Path) -> tuple[Any, Any]:
    """The model, and a tokenizer of Hugging Face."""
    about, tensors = read_gguf(path)
    model = llama(
        tensors,
        vocab_size=about["llama.vocab_size"],
        hidden_size=about["llama.embedding_length"],
        intermediate_size=about["llama.feed_forward_length"],
        num_hidden_layers=about["llama.block_count"],
        num_attention_heads=about["llama.attention.head_count"],
        num_key_value_heads=about["llama.attention.head_count_kv"],
        rms_norm_eps=about["llama.attention.layer_norm_rms_epsilon"],
        rope_theta=about["llama.rope.freq_base"],
        max_position_embeddings=about["llama.context_length"],
    )
    pieces = {piece: i for i, piece in enumerate(about["tokenizer.ggml.tokens"])}
    merges = [tuple(merge.split(" ")) for merge in about["tokenizer.ggml.merges"]]
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(pieces, merges))
    split = tokenizers.pre_tokenizers
    tokenizer.pre_tokenizer = split.Sequence([split.Digits(True), split.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    return model, tokenizer


def test_smollm2_is_that_of_transformers(bundle_of: Callable[..., Bundle], hark: Hark) -> None:
    bundle = bundle_of("smollm2")
    assert bundle.facts.licence == "apache-2.0"
    model, tokenizer = smollm2_of_transformers(source("smollm2"))
    text = "\n".join(ENGLISH)
    ids = vocabulary_of(bundle).encode_literal(text)
    assert list(ids) == tokenizer.encode(text).ids
    with torch.inference_mode():
        expected = model(torch.tensor([ids])).logits[0].numpy()
    found = our_logits(bundle, ids)
    assert np.abs(found - expected).max() < 1e-3 < np.abs(expected).max() / 1e3
    assert (found.argmax(-1) == expected.argmax(-1)).all()
    words = ("--greedy", "--max-tokens", "20", "--json", "Once upon a time")
    said = figures(hark("generate", "-m", str(bundle.folder), *words))
    assert said["ending"] == "length"
    prompt = len(tokenizer.encode("Once upon a time").ids)
    ids = tokenizer.encode("Once upon a time" + said["text"]).ids
    assert len(ids) == prompt + 20
    assert ids[prompt:] == likeliest(model, ids)[prompt - 1 : -1]


def test_texts_of_smollm2_are_independent_of_each_other(bundle_of: Callable[..., Bundle]) -> None:
    generator = Generator(bundle_of("smollm2").folder, "cpu")
    settings = {"temperature": 0, "max_tokens": 2, "seed": 1}
    together = [texts[0] for texts in generator.generate(ENGLISH, **settings)]
    assert together == [each for prompt in ENGLISH for (each,) in generator.generate([prompt], **settings)]
    assert together[0].text.startswith(" Paris.")
    assert len({each.text for each in together}) == len(ENGLISH)
    generator.close()


# Stories, from a checkpoint of llama2.c


def rms_norm(x: Array, weight: Array) -> Array:
    return x / np.sqrt((x * x).mean() + 1e-5) * weight


def softmax(x: Array) -> Array:
    powers = np.exp(x - x.max())
    return powers / powers.sum()


class Stories:
    """The algorithm of llama2.c, one token and one head at a time, on the numbers of its checkpoint in their order."""

    def __init__(self, path: Path) -> None:
        raw = bytearray(path.read_bytes())
        self.width, inner, self.layers, self.heads, _, self.size, self.longest = struct.unpack_from("<7i", raw)
        numbers, place = np.frombuffer(raw, "<f4", offset=28), 0

        def take(*shape: int) -> Array:
            nonlocal place
            place += int(np.prod(shape))
            return numbers[place - int(np.prod(shape)) : place].reshape(shape)

        width, layers = self.width, self.layers
        self.embedding, self.before_attention = take(self.size, width), take(layers, width)
        self.q, self.k, self.v, self.o = (take(layers, width, width) for _ in range(4))
        self.before_inner = take(layers, width)
        self.w1, self.w2, self.w3 = take(layers, inner, width), take(layers, width, inner), take(layers, inner, width)
        self.last = take(width)
        self.past: list[list[tuple[Array, Array]]] = [[] for _ in range(layers)]

    def rotated(self, x: Array, position: int) -> Array:
        """Neighbours of each head as complex numbers, turned."""
        half = self.width // self.heads // 2
        angles = position * 10_000.0 ** (-np.arange(half) / half)
        turned = x.reshape(self.heads, half, 2).astype(np.float64) @ np.array([1, 1j]) * np.exp(1j * angles)
        return np.stack([turned.real, turned.imag], -1).reshape(self.heads, -1)

    def step(self, token: int, position: int) -> Array:
        x = self.embedding[token]
        for layer in range(self.layers):
            y = rms_norm(x, self.before_attention[layer])
            q = self.rotated(self.q[layer] @ y, position)
            k, v = self.rotated(self.k[layer] @ y, position), (self.v[layer] @ y).reshape(self.heads, -1)
            self.past[layer].append((k, v))
            heads = []
            for head in range(self.heads):
                scores = np.array([q[head] @ key[head] for key, _ in self.past[layer]]) / np.sqrt(q.shape[1])
                weights = softmax(scores)
                heads.append(sum(w * value[head] for w, (_, value) in zip(weights, self.past[layer], strict=True)))
            x = x + self.o[layer] @ np.concatenate(heads)
            y = rms_norm(x, self.before_inner[layer])
            gate = self.w1[layer] @ y
            x = x + self.w2[layer] @ (gate / (1 + np.exp(-gate)) * (self.w3[layer] @ y))
        return self.embedding @ rms_norm(x, self.last)


def read_pieces(path: Path, size: int) -> list[tuple[bytes, float]]:
    """The vocabulary of llama2.c: pieces and scores."""
    raw, place, pieces = path.read_bytes(), 4, []
    for _ in range(size):
        score, length = struct.unpack_from("<fi", raw, place)
        pieces.append((raw[place + 8 : place + 8 + length], score))
        place += 8 + length
    return pieces


def merged(text: str, pieces: Sequence[tuple[bytes, float]]) -> list[int]:
    """The tokens of ASCII text: the two neighbours whose union has the best score are joined until there are none."""
    ids = {piece: i for i, (piece, _) in reversed([*enumerate(pieces)])}
    tokens = [ids[character.encode()] for character in f" {text}"]
    while True:
        unions = [pieces[a][0] + pieces[b][0] for a, b in pairwise(tokens)]
        best = max(((pieces[ids[each]][1], -i) for i, each in enumerate(unions) if each in ids), default=None)
        if best is None:
            return tokens
        tokens[-best[1] : -best[1] + 2] = [ids[unions[-best[1]]]]


def test_stories_are_those_of_the_algorithm(bundle_of: Callable[..., Bundle], hark: Hark) -> None:
    bundle, folder = bundle_of("stories15m"), source("stories15m")
    stories = Stories(folder / "stories15M.bin")
    pieces = read_pieces(folder / "tokenizer.bin", stories.size)
    tokens = [1, *merged("Once upon a time", pieces)]
    assert [1, *vocabulary_of(bundle).encode_literal("Once upon a time")] == tokens
    prompt, logits = len(tokens), []
    for position in range(prompt + 40):
        logits.append(stories.step(tokens[position], position))
        if len(tokens) == position + 1:
            tokens.append(int(logits[-1].argmax()))
    text = b"".join(pieces[token][0] for token in tokens[prompt:]).decode()
    said = hark("generate", "-m", str(bundle.folder), "Once upon a time", "--greedy", "--max-tokens", "41")
    assert said.stdout == f"{text}\n"
    assert "Lily" in text
    np.testing.assert_allclose(our_logits(bundle, tokens[:-1]), np.array(logits), atol=1e-3)
    names = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down", "attn_norm", "ffn_norm")
    s = stories
    arrays = (s.q, s.k, s.v, s.o, s.w1, s.w3, s.w2, s.before_attention, s.before_inner)
    tensors = {
        f"blk.{i}.{name}.weight": each[i] for name, each in zip(names, arrays, strict=True) for i in range(s.layers)
    }
    tensors |= {"token_embd.weight": s.embedding, "output_norm.weight": s.last}
    model = llama(
        tensors,
        vocab_size=s.size,
        hidden_size=s.width,
        intermediate_size=s.w1.shape[1],
        num_hidden_layers=s.layers,
        num_attention_heads=s.heads,
        rms_norm_eps=1e-5,
        max_position_embeddings=s.longest,
    )
    assert likeliest(model, tokens)[prompt - 1 : -1] == tokens[prompt:]


# MiniLM, from safetensors in 16 bits


PUBLISHED = {
    ("The weather is lovely today.", "It's so sunny outside!"): 0.6660,
    ("The weather is lovely today.", "He drove to the stadium."): 0.1046,
    ("It's so sunny outside!", "He drove to the stadium."): 0.1411,
    ("The new movie is awesome", "The new movie is so great"): 0.8939,
    ("The cat sits outside", "The dog plays in the garden"): 0.2838,
    ("A man is playing guitar", "A woman watches TV"): -0.0327,
}
"""Cosines in the documentation of sentence-transformers."""


def test_minilm_has_the_published_similarities(bundle_of: Callable[..., Bundle], hark: Hark) -> None:
    bundle = bundle_of("minilm")
    texts = list(dict.fromkeys(text for pair in PUBLISHED for text in pair))
    said = hark("embed", "-m", str(bundle.folder), "--similarity", *texts)
    assert said.returncode == 0, said.stderr
    rows = [line.split()[1 : len(texts) + 1] for line in said.stdout.splitlines()[1:]]
    for (one, other), cosine in PUBLISHED.items():
        assert float(rows[texts.index(one)][texts.index(other)]) == pytest.approx(cosine, abs=6e-4)


def test_minilm_has_the_states_of_transformers(bundle_of: Callable[..., Bundle]) -> None:
    encoder, folder = LoadedEncoder(bundle_of("minilm").folder, "cpu"), source("minilm")
    model = transformers.BertModel.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    for number, text in enumerate(("", "Größe, naïve café 你好 🙂", *(each for pair in PUBLISHED for each in pair)), 1):
        ids = encoder.enclose(encoder.vocabulary.encode_one(text), number)
        assert ids == tokenizer(text, padding=False)["input_ids"]
        with torch.inference_mode():
            expected, (found, _, _) = model(torch.tensor([ids])).last_hidden_state[0], encoder.states([ids])
        np.testing.assert_allclose(found.numpy(), expected.numpy(), atol=2e-6)


# A BERT of chemical reactions, with its prediction layer, from a file of torch.save


def test_bert_fills_gaps_in_reactions(bundle_of: Callable[..., Bundle], hark: Hark) -> None:
    bundle, folder = bundle_of("reactions"), source("reactions")
    model = transformers.BertForMaskedLM.from_pretrained(folder, dtype=torch.float32).eval()
    tokens = (folder / "vocab.txt").read_text().split()
    # An acid and an alcohol make an ester, which has an oxygen; with an amine they make an amide, which has a nitrogen.
    for reaction, atom in (
        ("C C ( = O ) O . O C C >> C C ( = O ) [MASK] C C", "O"),
        ("C C ( = O ) Cl . N C C >> C C ( = O ) [MASK] C C", "N"),
    ):
        words = "[CLS] " + reaction.replace(">>", "> >") + " [SEP]"  # BERT splits punctuation
        ids = torch.tensor(
            [[tokens.index(word) if word in tokens else tokens.index("[UNK]") for word in words.split()]]
        )
        with torch.inference_mode():
            chances = model(ids).logits[0, words.split().index("[MASK]")].softmax(-1)
        best = [tokens[i] for i in chances.topk(3).indices]
        found = figures(hark("fill", "-m", str(bundle.folder), "--top", "3", "--json", reaction))
        (fillers,) = found["gaps"]
        assert [each["text"] for each in fillers] == best
        assert best[0] == atom
        assert [each["probability"] for each in fillers] == pytest.approx(chances.topk(3).values.tolist(), abs=1e-4)


# OPUS-MT from Chinese into English, from an Argos package


CHINESE = ("今天天气很好。", "我叫李明,我是一名学生。", "请问火车站在哪里?", "这本书非常有趣。", "他们明天去北京。")


def test_opus_mt_translates_like_ctranslate2(bundle_of: Callable[..., Bundle], hark: Hark, tmp_path: Path) -> None:
    # Without the check of the import, which searches the same with CTranslate2 for 40 seconds.
    bundle = bundle_of("zh-en", "--no-check")
    with zipfile.ZipFile(source("zh-en")) as package:
        package.extractall(tmp_path)
    (folder,) = tmp_path.iterdir()
    split = sentencepiece.SentencePieceProcessor(model_file=str(folder / "sentencepiece.model"))
    model = ctranslate2.Translator(str(folder / "model"), compute_type="float32", inter_threads=1, intra_threads=1)
    answers = model.translate_batch([split.encode(text, out_type=str) for text in CHINESE], beam_size=4)
    expected = ["".join(each.hypotheses[0]).replace("▁", " ").strip() for each in answers]
    (tmp_path / "chinese.txt").write_text("\n".join(CHINESE) + "\n")
    said = hark("translate", "-m", str(bundle.folder), "--precision", "float32", "chinese.txt")
    assert said.stdout.splitlines() == expected
    assert "Beijing" in expected[-1]
