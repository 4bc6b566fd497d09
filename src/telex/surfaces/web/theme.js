// Which colours? The reader's choice if there is one, set before anything is painted; else what the system says.
try {
  const chosen = localStorage.getItem("telex-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // A browser that keeps nothing still shows the page.
}
