// Server-sent events over fetch, which can say who asks: one connection for the view that is shown; told when it is lost, tried again, and made whole after.
import { answered } from "./api.js";

const FIRST_WAIT = 500;
const LONGEST_WAIT = 15_000;

/**
 * `heard(kind, data)` for each event, `changed("live" | "lost", retryAt)` for the connection, and
 * `returned()` after a loss: what was missed meanwhile is to be fetched again.
 */
export class Stream {
  #listening = null;
  #wait = FIRST_WAIT;
  #timer = 0;
  #views = "";
  #lost = false;

  constructor({ heard, changed, returned }) {
    this.heard = heard;
    this.changed = changed;
    this.returned = returned;
    addEventListener("online", () => this.#lost && this.#open());
  }

  /** Listen to these views from now on. */
  follow(views) {
    const wanted = [...new Set([...views, "health", "queue"])].sort().join(",");
    if (wanted === this.#views && this.#listening) return;
    this.#views = wanted;
    this.#open();
  }

  stop() {
    clearTimeout(this.#timer);
    this.#listening?.abort();
    this.#listening = null;
  }

  async #open() {
    this.stop();
    const mine = new AbortController();
    this.#listening = mine;
    try {
      const response = await answered(`api/stream?views=${this.#views}`, "text/event-stream", mine.signal);
      this.#opened();
      await each(response.body, (kind, data) => mine === this.#listening && this.heard(kind, data));
    } catch {
      // told below, like a stream that ends
    }
    if (mine === this.#listening) this.#failed();
  }

  #opened() {
    this.#wait = FIRST_WAIT;
    this.changed("live");
    if (this.#lost) this.returned();
    this.#lost = false;
  }

  #failed() {
    this.#lost = true;
    this.changed("lost", Date.now() + this.#wait);
    this.#timer = setTimeout(() => this.#open(), this.#wait);
    this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT);
  }
}

/** Tell of every event of a stream, until it ends. */
async function each(body, heard) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) tell(block, heard);
  }
}

function tell(block, heard) {
  const fields = Object.fromEntries(block.split("\n").map((line) => line.split(/: (.*)/s, 2)));
  if (fields.event && fields.data) heard(fields.event, JSON.parse(fields.data));
}
