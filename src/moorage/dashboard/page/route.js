// The address of what is shown: `#/view/part/part?filter=value`, so that every state can be sent to a colleague.
import { parts } from "./words.js";

/** {view, parts, query} of the address bar. */
export function read(hash = location.hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [view = "", ...parts] = path.split("/").map(decoded);
  return { view: view || "cluster", parts, query: Object.fromEntries(new URLSearchParams(query)) };
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The address of a state; what is empty is left out. */
export function link(view, parts = [], query = {}) {
  const kept = Object.entries(query).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const text = new URLSearchParams(kept).toString();
  return `#/${[view, ...parts].map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

export const podLink = (pod) => link("pod", parts(pod));
export const nodeLink = (node) => link("cluster", [], { node });

/** Change some of the filters; `quietly` without a new entry in the history, as while typing. */
export function change(query, quietly = false) {
  const here = read();
  const to = link(here.view, here.parts, { ...here.query, ...query });
  if (to === location.hash) return;
  if (quietly) {
    history.replaceState(null, "", to);
    dispatchEvent(new HashChangeEvent("hashchange"));
  } else {
    location.hash = to;
  }
}
