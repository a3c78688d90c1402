// Numbers, durations and names as the command line writes them.
const COUNT = new Intl.NumberFormat("en");

export const count = (number) => COUNT.format(number);
export const many = (number, one, more = `${one}s`) => `${count(number)} ${number === 1 ? one : more}`;
export const percent = (part) => (part === null || part === undefined ? "–" : `${Math.round(part * 100)}%`);

/** A number in as many digits as it is worth reading. */
export function number(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  const size = Math.abs(value);
  if (size >= 1000) return count(Math.round(value));
  if (size >= 100 || Number.isInteger(value)) return String(Math.round(value));
  return String(Number(value.toPrecision(size >= 1 ? 3 : 2)));
}

/** Milliseconds with their unit. */
export function millis(value) {
  if (value === null || value === undefined) return "–";
  if (value >= 1000) return `${number(value / 1000)} s`;
  return value < 0.1 && value > 0 ? `${number(value * 1000)} µs` : `${number(value)} ms`;
}

/** A span of time as kubectl writes it: 45s, 3m20s, 2h5m, 9d. */
export function span(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 60) return `${whole}s`;
  if (whole < 600) return `${Math.floor(whole / 60)}m${whole % 60 ? `${whole % 60}s` : ""}`;
  if (whole < 3600) return `${Math.floor(whole / 60)}m`;
  if (whole < 86400) return `${Math.floor(whole / 3600)}h${Math.floor((whole % 3600) / 60) || ""}${whole % 3600 >= 60 ? "m" : ""}`;
  return `${Math.floor(whole / 86400)}d`;
}

/** Namespace and name of a pod's key. */
export function parts(pod) {
  const at = pod.indexOf("/");
  return at < 0 ? ["default", pod] : [pod.slice(0, at), pod.slice(at + 1)];
}

/** One word of a shell, quoted where it must be. */
export function quoted(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** How long an attempt took, in milliseconds; in virtual time no time passes, and its steps tell. */
export const took = (attempt) => attempt.ms || Object.values(attempt.steps ?? {}).reduce((sum, ms) => sum + ms, 0);
