// Colours that the person chose, set before anything is painted; without a choice the system decides.
try {
  const chosen = localStorage.getItem("telex-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // No storage: the system decides.
}
