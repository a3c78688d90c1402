// The bearer token that somebody pasted: kept in this tab until it is closed, sent in a header, and nowhere else.
const KEY = "moorage-token";
let held = stored();

function stored() {
  try {
    return sessionStorage.getItem(KEY) ?? "";
  } catch {
    return ""; // where a browser keeps nothing, it is held until the page is left
  }
}

/** Keep a token, "" for none. */
export function keep(token) {
  held = token;
  try {
    if (token) sessionStorage.setItem(KEY, token);
    else sessionStorage.removeItem(KEY);
  } catch {
    // see above
  }
}

export const isKept = () => held !== "";

/** What a question says of who asks. */
export const headers = (accept) => (held ? { Accept: accept, Authorization: `Bearer ${held}` } : { Accept: accept });

/** What was pasted, without what is often copied along; "" where it cannot be a token. */
export function cleaned(text) {
  const token = text.trim().replace(/^Bearer\s+/i, "");
  return /^[\x21-\x7e]+$/.test(token) ? token : "";
}
