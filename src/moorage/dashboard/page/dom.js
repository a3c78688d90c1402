// Elements and text nodes: whatever comes from the cluster becomes text, never markup.
const SVG = "http://www.w3.org/2000/svg";

/** An element: `h("a.name", {href}, "text", child)`; `on` holds listeners; null children are left out. */
export function h(spec, props = {}, ...children) {
  const [tag, ...classes] = spec.split(".");
  return filled(document.createElement(tag), classes, props, children);
}

/** The same for SVG. */
export function svg(spec, props = {}, ...children) {
  const [tag, ...classes] = spec.split(".");
  return filled(document.createElementNS(SVG, tag), classes, props, children);
}

function filled(element, classes, props, children) {
  if (classes.length) element.classList.add(...classes);
  for (const [name, value] of Object.entries(props ?? {})) set(element, name, value);
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

function set(element, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name === "on") {
    for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
  } else if (name === "data") {
    Object.assign(element.dataset, value);
  } else if (name === "value") {
    element.value = value;
  } else {
    element.setAttribute(name, value === true ? "" : value);
  }
}

/** Replace what an element holds; open folds stay open, and the focus stays where it was. */
export function refill(element, ...children) {
  const open = new Set([...element.querySelectorAll("details[open]")].map(mark));
  const inside = element.contains(document.activeElement) ? mark(document.activeElement) : null;
  const scrolls = [...element.querySelectorAll(".scroll")].map((each) => each.scrollLeft);
  element.replaceChildren(...children.flat().filter((child) => child));
  for (const each of element.querySelectorAll("details")) if (open.has(mark(each))) each.open = true;
  for (const [index, each] of element.querySelectorAll(".scroll").entries()) each.scrollLeft = scrolls[index] ?? 0;
  if (inside) [...element.querySelectorAll("a,button,summary,select,input")].find((each) => mark(each) === inside)?.focus();
}

function mark(element) {
  const own = element.dataset.key ?? element.id ?? "";
  return [element.tagName, own, element.getAttribute("href"), own ? "" : element.textContent.slice(0, 80)].join("\u0000");
}

/** A part of the page that is built again only when what it shows has changed. */
export function region(element, build) {
  let shown;
  return {
    element,
    show(data) {
      const now = JSON.stringify(data);
      if (now === shown) return;
      shown = now;
      const built = build(data);
      element.hidden = built === null;
      if (built !== null) refill(element, built);
    },
  };
}
