// Colours that stay apart for the colour-blind: a ramp in lightness for quantities (YlGnBu), Okabe and Ito's for kinds.
const RAMP = ["#f2f6dc", "#d9efc0", "#b3dfbb", "#7fcdbb", "#48b5c4", "#2a93c0", "#2368ac", "#253f96", "#0d2160"];
const NIGHT = ["#18253d", "#1b376a", "#1e508d", "#216ba3", "#2686ad", "#389fae", "#5fb6a8", "#9ccda2", "#ebe8a6"];
const KINDS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a900", "#7a6bb0", "#8c564b"];
const STEPS = 32;

export const isDark = () => document.documentElement.dataset.theme === "dark";
export const STEP_COUNT = STEPS;

/** The ramp in steps, the least first: pale is little by day, dark is little by night. */
export function ramp() {
  const anchors = (isDark() ? NIGHT : RAMP).map(rgb);
  return Array.from({ length: STEPS }, (_, step) => between(anchors, step / (STEPS - 1)));
}

/** The colour of the n-th kind; beyond the ninth all are of one. */
export const kind = (index) => KINDS[index] ?? rest();
export const KIND_COUNT = KINDS.length;
export const rest = () => (isDark() ? "#5b6875" : "#a7b1ba");
export const unknown = () => (isDark() ? "#222c36" : "#e6eaee");
export const fits = () => (isDark() ? "#3f9fd8" : "#0072b2");

/** Ink that can be read on a colour. */
export function inkOn(colour) {
  const [red, green, blue] = rgb(colour).map((part) => (part / 255) ** 2.2);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.25 ? "#0d1218" : "#ffffff";
}

function between(anchors, part) {
  const place = part * (anchors.length - 1);
  const low = Math.min(Math.floor(place), anchors.length - 2);
  const mixed = anchors[low].map((from, index) => Math.round(from + (anchors[low + 1][index] - from) * (place - low)));
  return `#${mixed.map((each) => each.toString(16).padStart(2, "0")).join("")}`;
}

const rgb = (hex) => [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
