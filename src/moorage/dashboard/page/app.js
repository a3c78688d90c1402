// The page: one view at a time, chosen by the address, fed by one stream.
import { ask } from "./api.js";
import { heard } from "./clock.js";
import { ClusterView } from "./view_cluster.js";
import { CompareView } from "./view_compare.js";
import { DecisionsView } from "./view_decisions.js";
import { HealthView } from "./view_health.js";
import { PodView } from "./view_pod.js";
import { QueueView } from "./view_queue.js";
import { nodeLink, podLink, read } from "./route.js";
import { Shell } from "./shell.js";
import { askForToken } from "./sign_in.js";
import { Stream } from "./stream.js";

const VIEWS = { cluster: ClusterView, queue: QueueView, pod: PodView, decisions: DecisionsView, compare: CompareView, health: HealthView };

const main = document.getElementById("main");
const shell = new Shell(jump);
let shown = null;
let name = "";
let signingIn = false;

const stream = new Stream({
  heard(kind, data) {
    shell.heard(kind, data);
    shown?.heard?.(kind, data);
  },
  changed: (state, retryAt) => shell.connection(state, retryAt),
  returned() {
    about();
    shown?.fetch();
  },
});

function route() {
  if (signingIn) return;
  const here = read();
  const view = here.view in VIEWS ? here.view : "cluster";
  if (view !== name) {
    shown?.stop();
    main.replaceChildren();
    main.className = `view-${view}`;
    shown = new VIEWS[view](main);
    name = view;
    scrollTo(0, 0);
  }
  shell.at(view, here);
  shown.show(here);
  stream.follow(shown.follows);
}

function jump(text) {
  location.hash = text.includes("/") ? podLink(text) : nodeLink(text);
}

async function about() {
  try {
    const told = await ask("about");
    heard(told.now, told.live);
    shell.about(told);
  } catch (error) {
    if (error.status === 429) signIn(429);
    else if (!signingIn) shell.silent(error);
  }
}

/** Nothing is asked any more until there is a token to ask with. */
function signIn(status) {
  if (signingIn) return;
  signingIn = true;
  stream.stop();
  shown?.stop();
  [shown, name] = [null, ""];
  shell.signIn(true);
  main.className = "";
  askForToken(main, status, start);
}

async function start() {
  signingIn = false;
  await about();
  if (signingIn) return;
  shell.signIn(false);
  route();
}

document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
addEventListener("hashchange", route);
addEventListener("refused", (event) => signIn(/** @type {CustomEvent} */ (event).detail));
await start();
