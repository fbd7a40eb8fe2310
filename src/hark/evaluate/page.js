// Pointing at a word of a translation shows the word of the source that it looked at; pointing at a word of the
// source shows the words that looked at it.
for (const item of document.querySelectorAll(".examples > li")) {
  const show = (event) => {
    for (const word of item.querySelectorAll(".w.on")) word.classList.remove("on");
    const word = event.type === "mouseover" && event.target.closest(".w");
    if (!word) return;
    const { source, target } = word.dataset;
    const others = source === undefined ? `[data-source="${target}"]` : `[data-target="${source}"]`;
    for (const each of [word, ...item.querySelectorAll(others)]) each.classList.add("on");
  };
  item.addEventListener("mouseover", show);
  item.addEventListener("mouseleave", show);
}
