// Languages on offer: their names, and which can be translated into which.

const names = new Intl.DisplayNames(["en"], { type: "language", fallback: "code" });

export function nameOf(code) {
  try {
    return names.of(code) ?? code;
  } catch {
    return code; // not a language tag
  }
}

export class Languages {
  /** @param {{code: string, targets: string[], formality: string[]}[]} offered */
  constructor(offered) {
    /** @type {[string, string][]} the directions in which the form of address can be chosen */
    this.formal = offered.flatMap(({ code, formality }) => formality.map((target) => [code, target]));
    /** @type {[string, string][]} source and target of each direction */
    this.pairs = offered.flatMap(({ code, targets }) => targets.map((target) => [code, target]));
  }

  get sources() {
    return sorted(this.pairs.map(([source]) => source));
  }

  get targets() {
    return sorted(this.pairs.map(([, target]) => target));
  }

  offers(source, target) {
    return this.pairs.some((pair) => pair[0] === source && pair[1] === target);
  }

  /** Whether the form of address can be chosen; without a source, from any. */
  offersForms(source, target) {
    return this.formal.some((pair) => (source === null || pair[0] === source) && pair[1] === target);
  }

  /** A target for this source: the first preferred one that is on offer, else the first of all. */
  targetFor(source, ...preferred) {
    return first(this.pairs.filter((pair) => pair[0] === source).map(([, target]) => target), preferred);
  }

  /** A source for this target, likewise. */
  sourceFor(target, ...preferred) {
    return first(this.pairs.filter((pair) => pair[1] === target).map(([source]) => source), preferred);
  }
}

const first = (found, preferred) => preferred.find((each) => found.includes(each)) ?? found[0] ?? null;

const sorted = (codes) => [...new Set(codes)].sort((one, other) => nameOf(one).localeCompare(nameOf(other), "en"));
