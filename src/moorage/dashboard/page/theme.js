// The theme: light, dark, or as the system has it. A plain script, so that it is set before the first paint.
(() => {
  const KEY = "moorage-theme";
  const NEXT = { system: "light", light: "dark", dark: "system" };
  const SIGN = { system: "◐", light: "○", dark: "●" };
  const system = matchMedia("(prefers-color-scheme: dark)");
  let choice = kept();

  function kept() {
    try {
      const found = localStorage.getItem(KEY);
      return found in NEXT ? found : "system";
    } catch {
      return "system"; // storage may be forbidden: the system decides
    }
  }

  function apply() {
    const dark = choice === "dark" || (choice === "system" && system.matches);
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    const button = document.getElementById("theme");
    if (button) {
      button.textContent = SIGN[choice];
      button.title = `Theme: ${choice}`;
      button.setAttribute("aria-label", `Theme: ${choice}; change it`);
    }
    document.dispatchEvent(new Event("themechange"));
  }

  function change() {
    choice = NEXT[choice];
    try {
      localStorage.setItem(KEY, choice);
    } catch {
      // it holds until the page is left
    }
    apply();
  }

  system.addEventListener("change", apply);
  document.addEventListener("DOMContentLoaded", () => {
    document.getElementById("theme").addEventListener("click", change);
    apply();
  });
  apply();
})();
