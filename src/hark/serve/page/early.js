// Applies the chosen colours before the first paint. Not a module: modules run too late and the page would flash.
try {
  const theme = JSON.parse(localStorage.getItem("hark.theme"));
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // follow the system
}
