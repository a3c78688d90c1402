// Server-sent events: one connection for the view that is shown; told when it is lost, tried again, and made whole after.
const VIEWS = ["cluster", "queue", "decisions", "health"];
const FIRST_WAIT = 500;
const LONGEST_WAIT = 15_000;

/**
 * `heard(kind, data)` for each event, `changed("live" | "lost", retryAt)` for the connection, and
 * `returned()` after a loss: what was missed meanwhile is to be fetched again.
 */
export class Stream {
  #source = null;
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
    if (wanted === this.#views && this.#source) return;
    this.#views = wanted;
    this.#open();
  }

  #open() {
    clearTimeout(this.#timer);
    this.#source?.close();
    const source = new EventSource(`api/stream?views=${this.#views}`);
    this.#source = source;
    source.onopen = () => this.#opened();
    source.onerror = () => this.#failed(source);
    for (const kind of VIEWS) source.addEventListener(kind, (event) => this.heard(kind, JSON.parse(event.data)));
  }

  #opened() {
    this.#wait = FIRST_WAIT;
    this.changed("live");
    if (this.#lost) this.returned();
    this.#lost = false;
  }

  #failed(source) {
    source.close();
    if (source !== this.#source) return;
    this.#lost = true;
    this.changed("lost", Date.now() + this.#wait);
    this.#timer = setTimeout(() => this.#open(), this.#wait);
    this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT);
  }
}
