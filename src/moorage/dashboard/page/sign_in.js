// Where the scheduler asks who looks: a field for a bearer token, and how to come by one.
import { copyCommand } from "./copy.js";
import { h } from "./dom.js";
import { cleaned, isKept, keep } from "./token.js";

const MAKE = "kubectl -n moorage-system create token dashboard-viewer --duration=8h";
const BIND = "kubectl -n moorage-system create serviceaccount dashboard-viewer && kubectl create clusterrolebinding dashboard-viewer --clusterrole=moorage-dashboard-viewer --serviceaccount=moorage-system:dashboard-viewer";
const TOLD = {
  401: "The API server does not accept this token: it is mistyped, or has expired.",
  403: "This account may not see the dashboard: whoever may bind roles has to give it the ClusterRole moorage-dashboard-viewer.",
  429: "Too many tries: wait a second, and try again.",
};

/** Ask for a token in `root`; `given()` when there is one to try. `status` is how the last question was refused. */
export function askForToken(root, status, given) {
  const told = isKept() || status === 429 ? TOLD[status] : "";
  keep("");
  const input = h("input", { type: "password", id: "token", name: "token", autocomplete: "off", spellcheck: "false", required: true, "aria-describedby": "token-told" });
  const problem = h("p.error", { id: "token-told", role: "alert" }, told);
  const form = h("form.stack", { on: { submit } }, h("label", { for: "token" }, "Bearer token"), input, problem, h("button.primary", { type: "submit" }, "Sign in"));
  function submit(event) {
    event.preventDefault();
    const token = cleaned(input.value);
    if (!token) {
      problem.textContent = "This is no token: paste it as kubectl prints it.";
      return;
    }
    keep(token);
    given();
  }
  root.replaceChildren(h("section.sheet.sign-in", { "aria-label": "Sign in" }, h("h1", {}, "Sign in"), h("p.soft", {}, "The API server decides who may see this scheduler. Paste a token that it knows; it stays in this tab, and is forgotten when the tab is closed."), form, help()));
  input.focus();
}

function help() {
  const line = (text, command) => h("div.command", {}, h("p", {}, text), h("pre", {}, command), copyCommand(command, "Copy"));
  return h("details", {}, h("summary", {}, "How to come by a token"), line("Once, an account with the role to look:", BIND), line("Then, as often as it is needed, a token of it:", MAKE), h("p.soft", {}, "Whoever may port-forward to the scheduler's pod needs none: see docs/dashboard.md."));
}
