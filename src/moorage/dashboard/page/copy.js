// Copies: what is shown, as JSON or as a command to paste.
import { h } from "./dom.js";
import { parts, quoted } from "./words.js";

let hiding = 0;

/** Say something for a moment. */
export function toast(text) {
  const place = document.getElementById("toast");
  place.textContent = text;
  place.classList.add("shown");
  clearTimeout(hiding);
  hiding = setTimeout(() => place.classList.remove("shown"), 1800);
}

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    byHand(text); // without TLS browsers keep the clipboard from pages
  }
  toast(`Copied ${what}`);
}

function byHand(text) {
  const area = h("textarea", { "aria-hidden": "true" });
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

/** A button that copies data as JSON; `data` may be a function. */
export function copyJson(data, label = "Copy JSON") {
  const text = () => JSON.stringify(typeof data === "function" ? data() : data, null, 2);
  return h("button", { type: "button", data: { key: label }, on: { click: () => copy(text(), "JSON") } }, label);
}

/** A button that copies a command. */
export function copyCommand(command, label = "Copy kubectl") {
  return h("button", { type: "button", title: command, data: { key: label + command }, on: { click: () => copy(command, command) } }, label);
}

export const describePod = (pod) => `kubectl describe pod -n ${quoted(parts(pod)[0])} ${quoted(parts(pod)[1])}`;
export const explainPod = (pod) => `kubectl moorage explain ${quoted(`pod/${parts(pod)[1]}`)} -n ${quoted(parts(pod)[0])}`;
export const describeNode = (node) => `kubectl describe node ${quoted(node)}`;

/** A change that helps, as a command; "" where kubectl cannot make it: most of a pod is fixed once it exists. */
export function changeCommand(pod, change) {
  if (Array.isArray(change.patch)) {
    if (!change.patch.every((each) => each.path.startsWith("/spec/tolerations"))) return "";
    const [namespace, name] = parts(pod);
    return `kubectl patch pod -n ${quoted(namespace)} ${quoted(name)} --type=json -p ${quoted(JSON.stringify(change.patch))}`;
  }
  const gone = change.patch?.delete ?? [];
  return gone
    .map((each) => `kubectl delete ${each.kind.toLowerCase()} ${each.namespace ? `-n ${quoted(each.namespace)} ` : ""}${quoted(each.name)}`)
    .join(" && ");
}
