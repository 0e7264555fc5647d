// The state of a page: what is asked for, its history, and its form in a link.

const LIMIT = 200; // states that can be undone

/** State with which a page begins. */
export function firstState(hello) {
  return {
    observations: [],
    view: hello.inputs.map((input) => [...input.range]),
    targets: hello.targets[0],
    samples: 64,
    seed: 0,
    sampler: "auto",
    steps: null,
    truth: hello.truth,
    near: null,
    ...structuredClone(hello.start),
  };
}

/** States one after another, with steps back and forth. */
export class History {
  constructor(state) {
    this.state = state;
    this.past = [];
    this.future = [];
    this.base = null; // state before a change that is not finished, such as a drag
  }

  /** Take a new state; unfinished ones are one step of the history in the end. */
  change(state, finished = true) {
    const before = this.base ?? this.state;
    this.state = state;
    if (!finished) {
      this.base = before;
      return;
    }
    this.base = null;
    if (JSON.stringify(before) === JSON.stringify(state)) return;
    this.past.push(before);
    this.past = this.past.slice(-LIMIT);
    this.future = [];
  }

  undo() {
    this.base = null;
    if (!this.past.length) return false;
    this.future.push(this.state);
    this.state = this.past.pop();
    return true;
  }

  redo() {
    this.base = null;
    if (!this.future.length) return false;
    this.past.push(this.state);
    this.state = this.future.pop();
    return true;
  }
}

/** Text of a state for the fragment of an address. */
export function encodeState(state) {
  const bytes = new TextEncoder().encode(JSON.stringify(state));
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return "s=" + btoa(text).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

/** State of a fragment; null if it has none that fits the scene. */
export function decodeState(fragment, hello) {
  const match = /^#?s=([\w-]+)$/.exec(fragment);
  if (!match) return null;
  try {
    const text = atob(match[1].replace(/-/g, "+").replace(/_/g, "/"));
    const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
    const state = JSON.parse(new TextDecoder().decode(bytes));
    return fitsScene(state, hello) ? { ...firstState(hello), ...state } : null;
  } catch {
    return null;
  }
}

/** Whether a state is one of this kind of model; all else is checked where it is computed. */
export function fitsScene(state, hello) {
  if (state === null || typeof state !== "object" || !Array.isArray(state.observations)) return false;
  const known = Object.keys(firstState(hello));
  if (!Object.keys(state).every((name) => known.includes(name))) return false;
  if (!Array.isArray(state.view) || state.view.length !== hello.inputs.length) return false;
  if (!state.view.every((range) => Array.isArray(range) && range.length === 2 && range.every(Number.isFinite))) return false;
  const { samples, targets, seed, steps, near, sampler, truth } = { ...firstState(hello), ...state };
  if (![samples, targets, seed, steps ?? 0].every(Number.isFinite)) return false;
  if (typeof sampler !== "string" || typeof truth !== "boolean") return false;
  if (near !== null && !["lat", "lon", "km"].every((name) => Number.isFinite(near[name]))) return false;
  return state.observations.every(
    (row) =>
      Array.isArray(row?.x) && row.x.length === hello.inputs.length && row.x.every(Number.isFinite) &&
      Array.isArray(row.y) && row.y.length === hello.outputs.length &&
      row.y.every((value) => value === null || Number.isFinite(value)) && Number.isFinite(row.std ?? 0),
  );
}

/** The state with one observation more, less, or another in its stead. */
export function withObservation(state, index, row) {
  const observations = [...state.observations];
  observations.splice(index, index < observations.length ? 1 : 0, ...(row ? [row] : []));
  return { ...state, observations };
}
