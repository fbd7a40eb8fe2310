// Hovering over a word of a translation highlights the source word aligned with it, and vice versa.
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
