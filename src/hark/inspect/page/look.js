// The recorded data: words, attention weights of every head, measured effects, and the steps of a search or what a model
// expects at each place of a text.
//
// Arrays come in blocks (hark/inspect/pack.py) that are unpacked on first use.

const KINDS = ["cross", "encoder", "decoder"];

/** Descriptions of the three kinds of attention, by what the two texts are called. */
const kindWords = ({ source, written }) => ({
  cross: {
    name: `${capitalised(written)} → ${source}`,
    rows: "word being written",
    columns: `word of the ${source}`,
    description: `When a word is written, it looks at the words of the ${source}.`,
  },
  encoder: {
    name: `${capitalised(source)} → ${source}`,
    rows: `word of the ${source}`,
    columns: `word of the ${source}`,
    description: `Before anything is written, the words of the ${source} look at each other to take in their context.`,
  },
  decoder: {
    name: `${capitalised(written)} → itself`,
    rows: "word being written",
    columns: "word written before",
    description: `When a word is written, it looks back at the ${written} so far.`,
  },
});

/** The same for the only kind of attention of a model of one stack. */
const ALONE_WORDS = {
  encoder: {
    name: "Text → text",
    rows: "word of the text",
    columns: "word of the text",
    description: "Every word looks at all words of the text, before and after it.",
  },
  decoder: {
    name: "Text → text so far",
    rows: "word being read",
    columns: "word read before",
    description: "When a word is read, it looks at itself and at the words before it.",
  },
};

export class Look {
  /** `head` is the JSON in the page, `bytes` the concatenated blocks. */
  constructor(head, bytes) {
    this.head = head;
    this.bytes = bytes;
    this.blocks = new Map();
    this.axes = new Map();
    this.tables = new Map();
  }

  static fromBase64(head, text) {
    const binary = atob(text.trim());
    const bytes = new Uint8Array(binary.length);
    for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
    return new Look(head, bytes);
  }

  has(name) {
    return name in this.head.blocks;
  }

  /** A block as numbers, with its shape. */
  block(name) {
    if (!this.blocks.has(name)) this.blocks.set(name, this.unpack(this.head.blocks[name]));
    return this.blocks.get(name);
  }

  async unpack({ at, bytes, shape, type, scale }) {
    const packed = new Blob([this.bytes.subarray(at, at + bytes)]).stream();
    const plain = new Uint8Array(
      await new Response(packed.pipeThrough(new DecompressionStream("deflate-raw"))).arrayBuffer(),
    );
    const count = shape.reduce((one, other) => one * other, 1);
    if (type === "u8") return { shape, scale, values: plain };
    // All high bytes come first, then all low bytes.
    const values = type === "i16" ? new Int16Array(count) : new Uint16Array(count);
    for (let i = 0; i < count; i++) values[i] = (plain[i] << 8) | plain[count + i];
    return { shape, scale, values };
  }

  /** Whether the model has one stack, which reads one text; otherwise it writes another. */
  get alone() {
    return Boolean(this.head.text);
  }

  /** What the text is called that the model reads, and the one that it writes: not every model has languages. */
  get nouns() {
    return this.head.languages ? { source: "source", written: "translation" } : { source: "input", written: "output" };
  }

  /** What the model reads, and what it writes: of a model of one stack, the same text. */
  get source() {
    return this.head.text ?? this.head.source;
  }

  get written() {
    return this.head.text ?? this.head.written;
  }

  /** The places of a text where an encoder's token is unknown. */
  get masks() {
    return this.head.expected.flatMap((each, at) => (each && each.p === null && at < this.written.tokens.length ? [at] : []));
  }

  get kinds() {
    return KINDS.filter((kind) => kind in this.head.layers);
  }

  wordsOf(kind) {
    return (this.alone ? ALONE_WORDS : kindWords(this.nouns))[kind];
  }

  layers(kind) {
    return this.head.layers[kind];
  }

  /** Decimals of the weights: two for 8 bits, four for 16. */
  get decimals() {
    return this.head.blocks[`weights/${this.kinds[0]}/0`].type === "u8" ? 2 : 4;
  }

  /** Rows or columns of a kind of attention: groups of tokens, each with its label. */
  axis(kind, side, { words, marks }) {
    const key = `${kind} ${side} ${words} ${marks}`;
    if (!this.axes.has(key)) {
      const which = kind === "encoder" || (kind === "cross" && side === "columns") ? "source" : "written";
      const read = kind === "decoder" && side === "columns" && !this.alone;
      const all = groups(this[which], words, read);
      this.axes.set(key, marks ? all : all.filter((group) => !group.mark));
    }
    return this.axes.get(key);
  }

  /** Weights of some heads, one table each, or their mean: rows x columns, by the groups shown. */
  async tablesOf(kind, layer, heads, shown, mean = false) {
    const rows = this.axis(kind, "rows", shown);
    const columns = this.axis(kind, "columns", shown);
    const block = await this.block(`weights/${kind}/${layer}`);
    const one = (head) => {
      const key = `${kind} ${layer} ${head} ${shown.words} ${shown.marks}`;
      if (!this.tables.has(key)) {
        if (this.tables.size > 400) this.tables.clear();
        this.tables.set(key, grouped(block, head, rows, columns));
      }
      return this.tables.get(key);
    };
    const tables = heads.map(one);
    return mean && tables.length > 1 ? [meanOf(tables)] : tables;
  }

  /** Cross-attention of the heads that align best, between words: written x source. */
  async alignment() {
    const { layer, heads, step } = this.head.alignment;
    const shown = { words: true, marks: true };
    const columns = this.axis("cross", "columns", shown);
    const last = this.head.written.tokens.length - 1;
    // Some heads align a word at the step that predicts it, others at the next step, which reads it.
    const late = (at) => (step === "reads" ? Math.min(at + 1, last) : at);
    const rows = this.axis("cross", "rows", shown).map(({ members }) => ({ members: members.map(late) }));
    const block = await this.block(`weights/cross/${layer}`);
    return meanOf(heads.map((head) => grouped(block, head, rows, columns)));
  }

  /** What the positions add to the score of each key of a query (ALiBi, relative positions): a function of both. */
  async bias(kind, head) {
    const name = `bias/${kind}/${head}`;
    if (!this.has(name)) return null;
    const { values, scale, shape } = await this.block(name); // by the distance, from the farthest behind
    return (i, j) => scale * values[(shape[0] - 1) / 2 + j - i];
  }

  /** Whether the vectors of a head are in the file. */
  explains(kind, layer, head) {
    return this.has(`vectors/${kind}/${layer}/${head}/q`);
  }

  async vectors(kind, layer, head) {
    const [q, k, v] = await Promise.all(["q", "k", "v"].map((each) => this.block(`vectors/${kind}/${layer}/${head}/${each}`)));
    const row = (block, at) => {
      const width = block.shape[1];
      return Array.from(block.values.subarray(at * width, (at + 1) * width), (x) => x * block.scale);
    };
    return {
      q: (at) => row(q, at),
      k: (at) => row(k, at),
      v: (at) => row(v, at),
      columns: k.shape[0],
    };
  }
}

/** The tokens of a text as groups: one by one, or by word. The decoder reads what was written, shifted by one. */
function groups(spelling, words, read) {
  const { tokens, marks, wordOf } = spelling;
  const one = (members, text, mark, joined) => ({ members, text, mark, joined, label: labelOf(text, mark, joined) });
  let found;
  if (words) {
    found = spelling.words.map((text) => one([], text, "", false));
    wordOf.forEach((word, at) => found[word].members.push(at));
    for (const group of found) {
      group.mark = marks[group.members[0]];
      group.label = labelOf(group.text, group.mark, false);
    }
  } else {
    found = tokens.map((text, at) => one([at], text, marks[at], at > 0 && wordOf[at] === wordOf[at - 1]));
  }
  if (!read) return found;
  // The last written token is never read, so its group is one shorter, or absent.
  const last = tokens.length - 1;
  const shifted = found
    .map((group) => ({ ...group, members: group.members.filter((at) => at < last).map((at) => at + 1) }))
    .filter((group) => group.members.length);
  return [one([0], "", "start", false), ...shifted];
}

export const capitalised = (word) => word[0].toUpperCase() + word.slice(1);

function labelOf(text, mark, joined) {
  if (mark) return `⟨${mark}⟩`;
  return joined ? `·${text}` : text;
}

/** Weights between groups: the mean over the tokens of a row, the sum over the tokens of a column. */
function grouped({ values, shape, scale }, head, rows, columns) {
  const [, height, width] = shape;
  const table = new Float32Array(rows.length * columns.length);
  rows.forEach((row, i) => {
    const factor = scale / row.members.length;
    for (const t of row.members) {
      const start = (head * height + t) * width;
      columns.forEach((column, j) => {
        for (const s of column.members) table[i * columns.length + j] += factor * values[start + s];
      });
    }
  });
  return table;
}

function meanOf(tables) {
  return tables[0].map((_, at) => tables.reduce((sum, table) => sum + table[at], 0) / tables.length);
}
