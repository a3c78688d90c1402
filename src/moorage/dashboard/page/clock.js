// The scheduler's clock, and times on the page: relative, with the absolute on hover, ticking once a second.
import { h } from "./dom.js";
import { span } from "./words.js";

let ahead = 0;
let stopped = null;

/** What the scheduler's clock says, in seconds; in a simulation that is another day, and may stand still. */
export function heard(serverNow, live = true) {
  if (typeof serverNow !== "number") return;
  ahead = serverNow - Date.now() / 1000;
  stopped = live ? null : serverNow;
}

export const now = () => stopped ?? Date.now() / 1000 + ahead;

/** Whether it stands still: what is shown has ended, or is of the past. */
export const isStopped = () => stopped !== null;

/** A moment as text that grows older; `at` in seconds since 1970. */
export function ago(at) {
  const moment = new Date(at * 1000);
  const known = Number.isFinite(at) && !Number.isNaN(moment.getTime());
  if (!known) return h("span.soft", {}, "–");
  return h("time", { datetime: moment.toISOString(), title: absolute(at), data: { at } }, span(now() - at));
}

/** The same for an age, of which the moment is worked out; rounded, so that it does not change at every look. */
export const aged = (seconds) => ago(Math.round(now() - seconds));

export const absolute = (at) => new Date(at * 1000).toISOString().replace("T", " ").replace(/\.\d+Z/, " UTC");
export const hour = (at) => new Date(at * 1000).toISOString().slice(11, 19);

setInterval(() => {
  if (document.hidden || stopped !== null) return;
  for (const each of document.querySelectorAll("time")) {
    if (each.dataset.at === undefined) continue;
    const text = span(now() - Number(each.dataset.at));
    if (each.textContent !== text) each.textContent = text;
  }
}, 1000);
