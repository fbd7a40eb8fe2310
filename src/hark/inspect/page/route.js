// Routes lines between two texts, one above the other, without crossing words: directly through the gap between the
// texts where nothing is in the way, otherwise along the gaps between lines and down the margin.

export const MARGIN = 9; // distance of vertical lines from the text
const RADIUS = 7;
const STUB = 12; // distance from the text before the first turn

/** Takes the boxes of all words of the two texts, and the chosen word, which determines the margin to use. */
export class Router {
  constructor(upper, lower, here) {
    this.upper = upper;
    this.lower = lower;
    const all = [...upper, ...lower];
    const [left, right] = [Math.min(...all.map((box) => box.left)), Math.max(...all.map((box) => box.right))];
    this.margin = centre(here) - left < right - centre(here) ? left - MARGIN : right + MARGIN;
  }

  /** A path from the bottom of a word in the upper text to the top of a word in the lower text. */
  path(from, to) {
    const below = Math.min(...this.upper.filter((box) => box.top >= from.bottom - 1).map((box) => box.top));
    const above = Math.max(...this.lower.filter((box) => box.bottom <= to.top + 1).map((box) => box.bottom));
    const [x, y, toX, toY] = [centre(from), from.bottom, centre(to), to.top];
    if (below === Infinity && above === -Infinity) {
      const bend = (toY - y) * 0.5;
      return [x, y, x, y + bend, toX, toY - bend, toX, toY];
    }
    const leave = below === Infinity ? y + STUB : (y + below) / 2;
    const enter = above === -Infinity ? toY - STUB : (toY + above) / 2;
    return rounded([
      [x, y],
      [x, leave],
      [this.margin, leave],
      [this.margin, enter],
      [toX, enter],
      [toX, toY],
    ]);
  }
}

const centre = (box) => (box.left + box.right) / 2;

/** Straight lines between points with rounded corners, as cubic curves for a pen's `path`. */
function rounded(points) {
  const found = [...points[0]];
  const straight = ([x, y]) => found.push(...found.slice(-2), x, y, x, y);
  points.slice(1, -1).forEach((corner, at) => {
    const [before, after] = [points[at], points[at + 2]];
    const reach = Math.min(RADIUS, distance(before, corner) / 2, distance(corner, after) / 2);
    const [start, end] = [towards(corner, before, reach), towards(corner, after, reach)];
    straight(start);
    found.push(...corner, ...corner, ...end);
  });
  straight(points[points.length - 1]);
  return found;
}

const distance = ([x, y], [toX, toY]) => Math.hypot(toX - x, toY - y);

function towards(from, to, by) {
  const share = by / (distance(from, to) || 1);
  return [from[0] + (to[0] - from[0]) * share, from[1] + (to[1] - from[1]) * share];
}
