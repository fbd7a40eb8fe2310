"""Renders a recording as a self-contained HTML page, which needs neither a network nor other files.

The page is plain ES modules (`page/*.js`) that a server can serve as they are. A file cannot import other files from
disk, so here they are concatenated into one script, each wrapped in a function that returns its exports.

Arrays are quantised to 8 or 16 bits, and each is a block compressed on its own (raw deflate, which browsers decode with
`DecompressionStream`), so that a page of many layers opens without unpacking them all. The blocks are concatenated in
one base64 string.
"""

import base64
import json
import math
import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hark.inspect.attention import Attention, Head
from hark.inspect.beam import RecordedSearch, path
from hark.inspect.effects import Effect, Effects
from hark.inspect.expectation import Expected
from hark.inspect.presets import Preset, PresetHead
from hark.inspect.reading import TextReading
from hark.inspect.recording import Recording
from hark.inspect.words import VISIBLE_SPACE, Spelling
from hark.pages.document import document, embed_json
from hark.text.vocabulary import SPACE, Vocabulary

Bits = Literal[8, 16]
LEVEL = 6
"""Of compression. The highest, 9, takes four times as long for long sentences, and saves less than 1% of a page."""
MODULES = (
    "dom", "colour", "pen", "picture", "route", "stage", "look", "sentence", "grid", "lines", "matrix", "why",
    "search", "effects", "predict", "main",
)  # fmt: skip
"""In dependency order: each after those that it imports."""
LARGEST = 2_800_000
"""Vectors are added up to this page size in characters. Weights are always included: for a sentence of 128 tokens and
the base model they take about half of it."""
FINE = 1 << 19
"""Maximum bytes of weights to store in 16 bits; larger ones are stored in 8."""
INDEX = 130
"""Maximum characters per block in the index."""
IMPORT = re.compile(r"^import (\{[^}]*\}) from \"\./(\w+)\.js\";$", re.MULTILINE)
EXPORT = re.compile(r"^export ((?:async )?(?:function|class|const) (\w+))", re.MULTILINE)


@dataclass
class Pack:
    """Compressed blocks and their offsets. In each, the high bytes of all numbers come first, then the low bytes: this
    compresses better, because high bytes are similar."""

    blocks: dict[str, dict[str, Any]] = field(default_factory=dict)
    parts: list[bytes] = field(default_factory=list)
    size: int = 0
    """Compressed bytes so far."""

    def add_shares(self, name: str, shares: NDArray[np.float32], bits: Bits) -> None:
        """Add numbers between 0 and 1, rounded to multiples of 1/255 or 1/65535."""
        most = (1 << bits) - 1
        rounded = np.rint(shares.clip(0, 1).astype(np.float64) * most)
        self._add(name, rounded.astype(f">u{bits // 8}"), scale=1 / most)

    def add_signed(self, name: str, numbers: NDArray[np.float32]) -> None:
        """Add any numbers, rounded to multiples of 1/32767 of the largest."""
        largest = float(np.abs(numbers).max(initial=0.0)) or 1.0
        rounded = np.rint(numbers.astype(np.float64) / largest * 32767)
        self._add(name, rounded.astype(">i2"), scale=largest / 32767)

    def _add(self, name: str, integers: NDArray[Any], scale: float) -> None:
        planes = np.ascontiguousarray(integers).view(np.uint8).reshape(-1, integers.itemsize).T
        packer = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
        packed = packer.compress(planes.tobytes()) + packer.flush()
        self.blocks[name] = {
            "at": self.size,
            "bytes": len(packed),
            "shape": list(integers.shape),
            "type": f"{integers.dtype.kind}{8 * integers.itemsize}",
            "scale": scale,
        }
        self.parts.append(packed)
        self.size += len(packed)

    @property
    def text(self) -> str:
        """All blocks as base64."""
        return base64.b64encode(b"".join(self.parts)).decode()


def text_size(packed: int) -> int:
    """The number of base64 characters for this many bytes."""
    return -(-packed // 3) * 4


@dataclass(frozen=True)
class Page:
    """An HTML page. Notebooks display it."""

    html: str
    title: str

    def save(self, path: Path | str) -> None:
        Path(path).write_text(self.html, encoding="utf-8")

    def _repr_html_(self) -> str:
        """The page in an iframe, to isolate its styles and names from the notebook's."""
        return (
            f'<iframe title="{escape(self.title)}" style="width:100%;height:760px;border:0" '
            f'srcdoc="{escape(self.html)}"></iframe>'
        )


def render(
    recording: Recording | TextReading,
    tokenizer: Vocabulary,
    effects: Effects | None = None,
    preset: tuple[Preset, Sequence[PresetHead]] | None = None,
) -> Page:
    """Render the whole page of a translation or a text. `tokenizer` is that of the target."""
    head, pack = pack_recording(recording, tokenizer, effects, preset, LARGEST - len(style()) - len(script()))
    title = f"{recording.sentence if isinstance(recording, Recording) else recording.text} · hark"
    body = (
        '<body>\n<main id="hark-look"></main>\n'
        f'<script type="application/json" id="hark-head">{embed_json(head)}</script>\n'
        f'<script type="text/plain" id="hark-blocks">{pack.text}</script>\n'
    )
    return Page(document(title, style(), body, script()), title)


def pack_recording(
    recording: Recording | TextReading,
    tokenizer: Vocabulary,
    effects: Effects | None = None,
    preset: tuple[Preset, Sequence[PresetHead]] | None = None,
    room: int = LARGEST,
) -> tuple[dict[str, Any], Pack]:
    """Return the data of a page, as its scripts expect it, and the blocks that it refers to.

    `room`: the characters that they may take. Vectors are left out if they do not fit.
    """
    pack = Pack()
    match recording:
        case Recording():
            head = describe(recording, tokenizer, effects, preset)
            add_weights(pack, recording.attention)
            if recording.search is not None:
                add_beam(pack, recording.search)
            first = [Head("cross", recording.alignment.layer, number) for number in recording.alignment.heads]
        case TextReading():
            head = describe_text(recording, tokenizer, effects)
            add_weights(pack, recording.attention)
            first = []
    add_biases(pack, recording)
    add_vectors(pack, recording, effects, first, room - len(json.dumps(head)))
    head["blocks"] = pack.blocks
    return head, pack


@cache
def style() -> str:
    return "body { margin: 0; }\n" + (files("hark.inspect") / "page" / "page.css").read_text(encoding="utf-8")


@cache
def script() -> str:
    """All modules as one script."""
    return "\n".join([*map(wrapped, MODULES), "main.open();", ""])


def wrapped(name: str) -> str:
    """Wrap a module in an immediately invoked function that returns its exports."""
    text = (files("hark.inspect") / "page" / f"{name}.js").read_text(encoding="utf-8")
    exports = ", ".join(found[2] for found in EXPORT.finditer(text))
    inside = EXPORT.sub(r"\1", IMPORT.sub(r"const \1 = \2;", text))
    return f"const {name} = (() => {{\n{inside}\nreturn {{ {exports} }};\n}})();"


def describe(
    recording: Recording,
    tokenizer: Vocabulary,
    effects: Effects | None,
    preset: tuple[Preset, Sequence[PresetHead]] | None,
) -> dict[str, Any]:
    """The page's data except for the blocks, as the scripts expect it."""
    alignment, attention = recording.alignment, recording.attention
    return {
        "model": recording.model,
        "languages": recording.languages,
        "sentence": recording.sentence,
        "translation": recording.translation,
        "shown": recording.shown,
        "score": round(recording.hypothesis.score, 4),
        "notes": recording.notes,
        "source": spelling(recording.source),
        "written": spelling(recording.written),
        "layers": {kind: len(attention.of(kind)) for kind in attention.kinds},
        "heads": attention.cross_LHTS.shape[1],
        "alignment": {"layer": alignment.layer, "heads": alignment.heads, "step": alignment.step},
        "beam": beam(recording, recording.search, tokenizer) if recording.search else None,
        **(describe_expected(recording.expected, tokenizer) if recording.expected else {}),
        "effects": measured(effects) if effects else None,
        "preset": preset_words(*preset) if preset else None,
        "open": opening(recording, *preset) if preset else {},
    }


def describe_text(reading: TextReading, tokenizer: Vocabulary, effects: Effects | None) -> dict[str, Any]:
    """The data of the page of a text, except for the blocks."""
    weights_LHTS = reading.attention.of(reading.kind)
    return {
        "model": reading.model,
        "sentence": reading.text,
        "shown": reading.whole,
        "score": round(reading.score, 4),
        "notes": reading.notes,
        "text": spelling(reading.spelling),
        "given": reading.given,
        "layers": {reading.kind: len(weights_LHTS)},
        "heads": weights_LHTS.shape[1],
        **describe_expected(reading.expected, tokenizer),
        "effects": measured(effects) if effects else None,
        "preset": None,
        "open": start_of(reading),
    }


def describe_expected(expected: Sequence[Expected | None], tokenizer: Vocabulary) -> dict[str, Any]:
    """What is expected at each place. Tokens are indices into a list of all that occur."""
    known = number_tokens(token for each in expected if each for token, _ in each.likely)

    def described(each: Expected | None) -> dict[str, Any] | None:
        if each is None:
            return None
        likely = [(known[token], round(p, 5)) for token, p in each.likely]
        p = None if each.log_prob is None else round(math.exp(each.log_prob), 7)
        return {"likely": likely, "p": p, "rank": each.rank}

    return {"tokens": labels(list(known), tokenizer), "expected": [described(each) for each in expected]}


def start_of(reading: TextReading) -> dict[str, Any]:
    """The initial state of the page of a text: the head that looks most sharply at something else than itself and the
    ends of the text, which many heads look at when they have nothing to do."""
    weights_LHTT = reading.attention.of(reading.kind).copy()
    at = np.arange(weights_LHTT.shape[-1])
    weights_LHTT[..., at, at] = 0
    weights_LHTT[..., [0] if reading.kind == "decoder" else [0, -1]] = 0
    clear_LH = weights_LHTT.max(-1).mean(-1)
    layer, number = (int(each) for each in np.unravel_index(clear_LH.argmax(), clear_LH.shape))
    return {"kind": reading.kind, "layer": layer, "heads": [number], "head": number}


def number_tokens(tokens: Iterable[int]) -> dict[int, int]:
    """Number tokens in the order of their first occurrence."""
    return {token: number for number, token in enumerate(dict.fromkeys(tokens))}


def labels(tokens: Sequence[int], tokenizer: Vocabulary) -> list[str]:
    """The texts of tokens: those that start a word have a leading space, and EOS is empty."""
    spelled, hidden = Spelling.of(tokens, tokenizer), set(tokenizer.hidden)
    pieces = zip(tokens, tokenizer.pieces(tokens), strict=True)
    spaced = [piece.startswith(SPACE) or token in hidden for token, piece in pieces]
    return [
        " " * begins + text.removeprefix(VISIBLE_SPACE) for text, begins in zip(spelled.tokens, spaced, strict=True)
    ]


def spelling(text: Spelling) -> dict[str, Any]:
    return {
        "tokens": text.tokens,
        "marks": text.marks,
        "words": text.words,
        "wordOf": text.word_of,
        "spaced": text.spaced,
    }


def beam(recording: Recording, search: RecordedSearch, tokenizer: Vocabulary) -> dict[str, Any]:
    """The steps of the search. Tokens are indices into a list of all that occur."""
    ids = [token for step in search.steps for each in step.likely for token, _ in each]
    ids += [each.token for step in search.steps for each in step.candidates]
    known = number_tokens(ids)
    return {
        "width": search.request.search.beam,
        "alpha": search.request.search.alpha,
        "forced": len(search.request.prefix),
        "tokens": labels(list(known), tokenizer),
        "steps": [
            {
                "logProbs": [round(float(each), 4) for each in step.log_prob_W],
                "likely": [[(known[token], round(p, 5)) for token, p in each] for each in step.likely],
                "next": [(each.row, known[each.token], round(each.log_prob, 4), each.fate) for each in step.candidates],
            }
            for step in search.steps
        ],
        "path": list(path(search.steps, recording.written_ids)),
    }


def measured(effects: Effects) -> dict[str, Any]:
    def change(effect: Effect) -> dict[str, Any]:
        if isinstance(effect.change, Head):
            return {"kind": effect.change.kind, "layer": effect.change.layer, "head": effect.change.number}
        return {"word": effect.change}

    def outcome(effect: Effect) -> dict[str, Any]:
        score = None if effect.score is None else round(effect.score, 4)
        return {**change(effect), "logProbs": rounded(effect.log_probs), "text": effect.text, "score": score}

    return {
        "logProbs": rounded(effects.log_probs),
        "words": [outcome(effect) for effect in effects.words],
        "heads": [outcome(effect) for effect in effects.heads],
        "headsInAll": effects.heads_in_all,
    }


def rounded(numbers: Sequence[float]) -> list[float]:
    return [round(number, 4) for number in numbers]


def preset_words(preset: Preset, found: Sequence[PresetHead]) -> dict[str, Any]:
    return {
        "figure": preset.figure,
        "title": preset.title,
        "found": [
            {
                "layer": each.head.layer,
                "head": each.head.number,
                "about": each.arcs.about,
                "weight": round(each.weight, 4),
                "usual": round(each.usual, 4),
            }
            for each in found
        ],
    }


def opening(recording: Recording, preset: Preset, found: Sequence[PresetHead]) -> dict[str, Any]:
    """The initial state of a preset's page: the layer and heads found, and the selected word."""
    first = found[0].head
    heads = sorted({each.head.number for each in found if each.head.layer == first.layer})
    if preset.whole_layer:
        heads = list(range(recording.attention.encoder_LHSS.shape[1]))
    held = None
    if preset.looking is not None:
        held = {"side": "row", "at": recording.source.text_words[preset.looking]}
    return {
        "view": "lines", "kind": "encoder", "layer": first.layer, "heads": heads, "head": first.number, "held": held,
    }  # fmt: skip


def add_weights(pack: Pack, attention: Attention) -> None:
    fine = 2 * sum(attention.of(kind).size for kind in attention.kinds) <= FINE
    for kind in attention.kinds:
        for layer, weights_HTS in enumerate(attention.of(kind)):
            pack.add_shares(f"weights/{kind}/{layer}", weights_HTS, 16 if fine else 8)


def add_beam(pack: Pack, search: RecordedSearch) -> None:
    width, length = search.request.search.beam, len(search.request.source)
    attention_PWS = np.zeros((len(search.steps), width, length), np.float32)
    for position, step in enumerate(search.steps):
        attention_PWS[position, : len(step.attention_WS)] = step.attention_WS
    pack.add_shares("beam", attention_PWS, 8)


def add_biases(pack: Pack, recording: Recording | TextReading) -> None:
    """Add what the positions add to the scores of each head, by the distance of the key from the query."""
    for kind, vectors in recording.vectors.items():
        if vectors.bias_HTS is not None:
            behind_HD, ahead_HD = vectors.bias_HTS[:, -1, :-1], vectors.bias_HTS[:, 0]
            for number, bias_D in enumerate(np.concatenate([behind_HD, ahead_HD], axis=1)):
                pack.add_signed(f"bias/{kind}/{number}", bias_D)


def add_vectors(
    pack: Pack, recording: Recording | TextReading, effects: Effects | None, first: Sequence[Head], room: int
) -> None:
    """Add queries, keys and values of as many heads as fit: those with the largest effects, then the `first`, then
    all."""
    heads = [effect.change for effect in effects.heads if isinstance(effect.change, Head)] if effects else []
    heads += first
    heads += [
        Head(kind, each, number)
        for kind in recording.attention.kinds
        for each in range(len(recording.attention.of(kind)))
        for number in range(recording.attention.of(kind).shape[1])
    ]
    for head in dict.fromkeys(heads):
        vectors = recording.vectors[head.kind]
        arrays = {
            name: each[head.layer, :, head.number]
            for name, each in (("q", vectors.q_LTHK), ("k", vectors.k_LSHK), ("v", vectors.v_LSHK))
        }
        if text_size(pack.size + 2 * sum(each.size for each in arrays.values())) + INDEX * len(pack.blocks) > room:
            return
        for name, each in arrays.items():
            pack.add_signed(f"vectors/{head.kind}/{head.layer}/{head.number}/{name}", each)
