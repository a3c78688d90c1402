// Questions to the scheduler: JSON over GET, relative to the page, each with an error in plain words.
import { headers } from "./token.js";

const WHO_ASKS = [401, 403];

/** The answer to `api/PATH?QUERY`; what is empty in the query is left out. */
export async function ask(path, query = {}, signal = undefined) {
  const kept = Object.entries(query).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const text = new URLSearchParams(kept).toString();
  const response = await answered(`api/${path}${text ? `?${text}` : ""}`, "application/json", signal);
  return response.json();
}

/** A good answer, or an error; whom the scheduler does not let look is asked for a token by `refused`. */
export async function answered(path, accept, signal) {
  const response = await fetch(path, { signal, headers: headers(accept), cache: "no-store" });
  if (response.ok) return response;
  if (WHO_ASKS.includes(response.status)) dispatchEvent(new CustomEvent("refused", { detail: response.status }));
  throw Object.assign(new Error(await told(response)), { status: response.status });
}

async function told(response) {
  const text = (await response.text()).trim().slice(0, 500);
  try {
    return JSON.parse(text).error ?? text;
  } catch {
    return text || `${response.status} ${response.statusText}`;
  }
}

/** A question that is asked again and again: the last one counts, and no two are under way at once. */
export function repeated(question, answered, failed) {
  let asking = null;
  let again = false;
  async function run() {
    if (asking) {
      again = true;
      return;
    }
    asking = new AbortController();
    const mine = asking;
    try {
      const answer = await question(mine.signal);
      if (!mine.signal.aborted) answered(answer);
    } catch (error) {
      if (!mine.signal.aborted) failed?.(error);
    } finally {
      if (asking === mine) asking = null;
    }
    if (again && !mine.signal.aborted) {
      again = false;
      run();
    }
  }
  function stop() {
    asking?.abort();
    asking = null;
    again = false;
  }
  function anew() {
    stop();
    return run();
  }
  return { run, stop, anew };
}

/** Calls of a function, at most one in so many milliseconds, the last of them for sure. */
export function throttled(wait, call) {
  let timer = 0;
  let last = 0;
  const run = () => {
    timer = 0;
    last = performance.now();
    call();
  };
  const ask_ = () => {
    if (!timer) timer = setTimeout(run, Math.max(0, wait - (performance.now() - last)));
  };
  ask_.stop = () => clearTimeout(timer);
  return ask_;
}
