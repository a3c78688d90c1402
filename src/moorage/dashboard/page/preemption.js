// Preemption, as a pod's page tells of it: for whom it had to leave, who left for it, and which node is promised to it.
import { ago } from "./clock.js";
import { h } from "./dom.js";
import { inside, nodeAnchor, podAnchor, sheet } from "./parts.js";
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
  const others = withGang(each) ? ` It left with others of its gang: the room is on ${each.room_on}.` : "";
  return `Its priority is ${number(each.priority ?? 0)}${other}.${others}`;
}

/** Where one pod makes room for itself, who leaves another node leaves with its gang. */
const withGang = (each) => each.what === "pod" && Boolean(each.room_on) && each.room_on !== each.node;

function room(victims, leaving) {
  const gang = victims.some((each) => each.what === "podgroup");
  const ranks = new Set(victims.map((each) => each.priority));
  const alike = ranks.size === 1 && !ranks.has(undefined);
  const rows = victims.map((each) => h("li.title", {},
    h("span", {}, podAnchor(each.pod), each.node ? [" on ", nodeAnchor(each.node)] : null),
    h("span.push.soft", {}, h("span", {}, notes(each, leaving, alike).join(" · ")), each.time ? ago(each.time) : null)));
  return inside(h("p", {}, `${many(victims.length, "victim")} for ${gang ? "its gang" : "it"}${alike ? `, of priority ${number([...ranks][0])}` : ""}`), h("ul.plain", {}, rows));
}

function notes(each, leaving, alike) {
  return [
    alike || each.priority === undefined ? "" : `priority ${number(each.priority)}`,
    leaving.has(each.pod) ? "leaving" : "",
    withGang(each) ? "with its gang" : "",
    each.way === "chosen" ? "chosen" : "",
    each.way === "memory" ? "sent back to the queue" : "",
    each.earlier ? "for an earlier pod of this name" : "",
  ].filter(Boolean);
}
