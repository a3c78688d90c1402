// Preemption, as a pod's page tells of it: for whom it had to leave, who left for it, and which node is promised to it.
import { ago } from "./clock.js";
import { h } from "./dom.js";
import { chip, inside, nodeAnchor, podAnchor, sheet } from "./parts.js";
import { many, number } from "./words.js";

/** A sheet of it, or nothing where nobody made room for anybody. */
export function preemption(data) {
  const leaving = data.preemption?.victims ?? [];
  const told = new Set((data.victims ?? []).map((each) => each.pod));
  const victims = [...leaving.filter((pod) => !told.has(pod)).map((pod) => ({ pod, node: data.preemption.node })), ...(data.victims ?? [])];
  const parts = [
    ...(data.left_for ?? []).map((each) => departure(each, data.state)),
    data.preemption?.node ? inside(h("p", {}, nodeAnchor(data.preemption.node), " is promised to it")) : null,
    victims.length ? room(victims, new Set(leaving)) : null,
  ].filter(Boolean);
  return parts.length ? sheet("Preemption", h("div.cards", {}, parts)) : null;
}

/** One time that it had to leave: for whom, when and why. */
function departure(each, state) {
  const who = each.earlier ? "An earlier pod of this name" : "It";
  return inside(
    h("div.title", {}, h("span", {}, `${who} ${left(each, state)} `, each.node ? nodeAnchor(each.node) : "its node", ...preemptor(each)), h("span.push.soft", {}, ago(each.time))),
    h("p", {}, each.why),
    h("p.soft", {}, ranks(each)));
}

function left(each, state) {
  if (each.way === "memory") return "was sent back to the queue before it was bound to";
  if (each.way === "chosen") return "was chosen to leave";
  return each.earlier || state === "gone" ? "left" : "has to leave";
}

/** A group whose eviction was begun, and not ended, leaves for nobody who is known. */
function preemptor(each) {
  if (each.what === "pod") return [" for ", podAnchor(each.by)];
  if (each.what === "podgroup") return [" for the gang ", h("span.mono", {}, each.by)];
  return [" with the rest of ", h("span.mono", {}, each.by)];
}

function ranks(each) {
  const other = each.by_priority === null || each.by_priority === undefined ? "" : `, the other's ${number(each.by_priority)}`;
  const elsewhere = each.what === "pod" && each.room_on && each.room_on !== each.node ? `; the room is on ${each.room_on}` : "";
  return `Its priority is ${number(each.priority ?? 0)}${other}${elsewhere}.`;
}

function room(victims, leaving) {
  const gang = victims.some((each) => each.what === "podgroup");
  const rows = victims.map((each) => h("li.title", {},
    h("span", {}, podAnchor(each.pod), each.node ? [" on ", nodeAnchor(each.node)] : null),
    leaving.has(each.pod) ? chip("leaving", "warn") : null,
    each.way === "chosen" ? chip("chosen") : null,
    each.way === "memory" ? chip("sent back to the queue") : null,
    each.earlier ? chip("for an earlier pod of this name") : null,
    h("span.push.soft", {}, each.priority === undefined ? null : `priority ${number(each.priority)} · `, each.time ? ago(each.time) : null)));
  return inside(h("p", {}, `${many(victims.length, "victim")} for ${gang ? "its gang" : "it"}`), h("ul.plain", {}, rows));
}
