// Drawing at most once per frame: events come faster than the screen can show them.

/**
 * Returns a function that calls `draw` with the next frame, however often it is called before.
 * @param {() => void} draw
 */
export function oncePerFrame(draw) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      draw();
    });
  };
}
