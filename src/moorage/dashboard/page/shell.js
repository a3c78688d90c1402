// What surrounds every view: the views to go to, who answers, and whether it still does.
import { h } from "./dom.js";
import { isKept, keep } from "./token.js";
import { count, many, span } from "./words.js";

const TITLES = { cluster: "Cluster", queue: "Queue", decisions: "Decisions", compare: "Compare", health: "Health" };
const WAITING = ["active", "backoff", "unschedulable", "gated"];

export class Shell {
  #counts = { queue: h("span.count"), health: h("span.count.bad") };
  #links = {};
  #retry = 0;
  #live = true;
  #past = false;

  constructor(jump) {
    this.link = document.getElementById("link");
    this.lost = document.getElementById("lost");
    const views = Object.entries(TITLES).map(([view, title]) => this.#tab(view, title));
    document.getElementById("views").append(...views);
    document.getElementById("jump").addEventListener("submit", (event) => {
      event.preventDefault();
      const text = /** @type {HTMLInputElement} */ (document.getElementById("jump-to")).value.trim();
      if (text) jump(text);
    });
    addEventListener("keydown", slashed);
  }

  #tab(view, title) {
    const badge = this.#counts[view];
    if (badge) badge.hidden = true;
    this.#links[view] = h("a", { href: `#/${view}` }, title, badge);
    return this.#links[view];
  }

  /** Which view is shown. */
  at(view, { parts: path, query }) {
    for (const [each, link] of Object.entries(this.#links)) {
      if (each === view || (view === "pod" && each === "queue")) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    const what = view === "pod" ? path.join("/") : (query.node ?? TITLES[view]);
    document.title = `${what} · Moorage`;
  }

  /** Who answers. */
  about(about) {
    this.#live = about.live !== false;
    this.#past = about.mode === "replay";
    const facts = [
      h("span.chip.keep", { title: `Moorage ${about.version}` }, about.mode),
      about.instance ? h("span.optional.mono", {}, about.instance) : null,
      about.generation ? h("span.optional", {}, `generation ${about.generation}`) : null,
      about.leader === false ? h("span.chip.warn", {}, "not the leader") : null,
      isKept() ? h("button.quiet", { type: "button", on: { click: signOut } }, "Sign out") : null,
    ];
    document.getElementById("about").replaceChildren(...facts.filter(Boolean));
  }

  /** Whether somebody is asked for a token, instead of being shown anything. */
  signIn(on) {
    document.body.classList.toggle("signing-in", on);
    this.lost.hidden = this.lost.hidden || on;
    clearInterval(this.#retry);
  }

  silent(error) {
    this.connection("lost", 0);
    this.lost.textContent = `The scheduler does not answer: ${error.message}`;
  }

  heard(kind, data) {
    if (kind === "queue" && data.counts) this.#badge("queue", WAITING.reduce((sum, state) => sum + (data.counts[state] ?? 0), 0), "pod waits");
    if (kind === "health" && data.alerts !== undefined) this.#badge("health", data.alerts, "alert");
  }

  #badge(view, number, what) {
    const badge = this.#counts[view];
    badge.hidden = !number;
    badge.textContent = count(number);
    badge.title = what === "alert" ? many(number, what) : `${count(number)} pods wait`;
  }

  /** The connection as it is: "live", or "lost" until it is tried again. */
  connection(state, retryAt) {
    this.link.dataset.state = state === "live" && !this.#live ? "still" : state;
    this.link.textContent = state === "lost" ? "not connected" : this.#live ? "live" : this.#past ? "as it was" : "as it ended";
    this.lost.hidden = state === "live";
    clearInterval(this.#retry);
    if (state === "live") return;
    const tell = () => {
      const left = Math.max(0, (retryAt - Date.now()) / 1000);
      this.lost.textContent = `No live updates: the connection to the scheduler is lost, and what is shown is as it was. Trying again${left >= 1 ? ` in ${span(left)}` : ""} …`;
    };
    tell();
    this.#retry = setInterval(tell, 1000);
  }
}

function signOut() {
  keep("");
  location.reload();
}

/** A slash goes to the search field, as in many lists. */
function slashed(event) {
  const writing = event.target.closest?.("input,select,textarea");
  if (event.key !== "/" || writing || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  document.getElementById("jump-to").focus();
}
