// Questions to the scheduler: JSON over GET, relative to the page, each with an error in plain words.

/** The answer to `api/PATH?QUERY`; what is empty in the query is left out. */
export async function ask(path, query = {}, signal = undefined) {
  const kept = Object.entries(query).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const text = new URLSearchParams(kept).toString();
  const response = await fetch(`api/${path}${text ? `?${text}` : ""}`, { signal, headers: { Accept: "application/json" } });
  if (!response.ok) throw new Error(await told(response));
  return response.json();
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
  return { run, stop, anew: () => (stop(), run()) };
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
