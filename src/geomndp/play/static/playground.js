// The playground: one element, any wire. `mount` for pages, `render` for notebooks.
import { Client, connectWidget } from "./client.js";
import { controls } from "./controls.js";
import { assign, h, s, say } from "./dom.js";
import { fieldScene } from "./field.js";
import { globeScene } from "./globe.js";
import { lineScene } from "./line.js";
import { planeScene } from "./plane.js";
import { decodeState, firstState, History } from "./state.js";

const SCENES = { line: lineScene, plane: planeScene, globe: globeScene, earth: fieldScene };
const MAX_FILE = 1_400_000; // in base64, within the limit of a message
const WORDS = {
  line: "Click to place an observation, drag it, turn the wheel over it for its error, double-click to remove it.",
  plane: "Press to place an observation, drag its arrow; turn the wheel over it for its error, double-click to remove it.",
  earth: "Click to place an observation, drag the end of its arrow; drag the globe to turn it, turn the wheel over an observation for its error, double-click to remove it.",
  globe: "Click to place the next fix, drag it; drag the globe to turn it, turn the wheel to come closer; Shift-click for a location to pass.",
};

/**
 * Show a playground.
 *
 * @param element where it is shown
 * @param wire connection to a session: `connectSocket(...)`, `connectWidget(...)`
 * @param options {fragment, onState, link}: state of a link to begin with, a function for every new
 *   state, and one that makes the link to a state
 * @returns {close()}
 */
export function mount(element, wire, options = {}) {
  const app = new Playground(element, wire, options);
  wire.start();
  return app;
}

class Playground {
  constructor(element, wire, options) {
    Object.assign(this, { element, wire, options, picture: null, selected: -1, pressed: null, output: 0, probe: 0, shown: "mean", placing: "fix", size: [640, 420] });
    this.status = h("p", { class: "status", role: "status", "aria-live": "polite" }, "connecting");
    this.alert = h("p", { class: "alert", role: "alert", hidden: true });
    this.title = h("h1", {}, "Playground");
    this.svg = s("svg", { class: "picture", role: "application", tabindex: 0 });
    this.readout = h("output", { class: "readout" });
    this.slider = h("input", { type: "range", min: 0, step: 1, "aria-label": "Read the picture at", oninput: () => this.setProbe(Number(this.slider.value)) });
    this.panel = h("div", { class: "panel" });
    this.hint = h("p", { class: "hint" });
    const stage = h("div", { class: "stage" }, this.svg, h("div", { class: "read" }, this.slider, this.readout), this.hint);
    element.classList.add("geomndp-playground");
    element.replaceChildren(h("header", {}, this.title, this.status), this.alert, h("div", { class: "columns" }, stage, this.panel));
    element.addEventListener("keydown", (event) => this.keys(event));
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.svg);
    this.client = new Client(wire, {
      hello: (message) => this.greet(message),
      open: () => this.say("connected"),
      lost: () => this.lost(),
      computing: (message) => this.say(message.stage ? "refining" : "computing"),
      error: (sentence) => this.fail(sentence),
      picture: (message, since, newest) => this.take(message, since, newest),
    });
  }

  get state() {
    return this.history.state;
  }

  greet(hello) {
    setData(this.element, { kind: hello.kind, connected: "true" });
    if (this.history) {
      this.say("connected again");
      this.ask();
      return;
    }
    this.hello = hello;
    const linked = decodeState(this.options.fragment ?? "", hello);
    this.history = new History(linked ?? firstState(hello));
    if (this.options.fragment?.length > 1 && !linked) this.warn("expected a link to a state of this model, got another; it is left aside");
    this.title.replaceChildren("Playground ", h("span", {}, hello.name));
    this.hint.textContent = WORDS[hello.kind];
    this.svg.setAttribute("aria-label", `${hello.kind} of ${hello.outputs.map((v) => v.name).join(", ")} over ${hello.inputs.map((v) => v.name).join(", ")}`);
    this.draw = SCENES[hello.kind](this, this.svg);
    this.update = controls(this, this.panel);
    this.resize();
    this.ask();
  }

  /** Take a new state; one that is not finished, as in a drag, is no step of the history yet. */
  change(state, finished = true) {
    this.history.change(state, finished);
    this.selected = Math.min(this.selected, state.observations.length - 1);
    this.redraw();
    this.ask(finished);
  }

  undo() {
    if (this.history.undo()) this.restored();
  }

  redo() {
    if (this.history.redo()) this.restored();
  }

  restored() {
    this.selected = -1;
    this.redraw();
    this.ask();
  }

  /** Ask for a picture; browsers limit how often an address changes, so a drag does so at its end. */
  ask(finished = true) {
    setData(this.element, { busy: "true" });
    this.client.ask(this.state);
    if (finished) this.options.onState?.(this.state);
  }

  take(message, since, newest) {
    this.picture = message.picture;
    if (newest) this.alert.hidden = true;
    this.redraw();
    const late = since === undefined ? NaN : performance.now() - since;
    setData(this.element, { number: message.number, refined: message.refined, busy: !newest || !message.refined, latency: late.toFixed(1) });
    const how = this.picture.sampler ? ` by ${this.picture.sampler} with ${this.picture.steps} steps` : "";
    const after = Number.isFinite(late) ? `, ${(late / 1000).toFixed(2)} s` : "";
    if (newest) this.say(message.refined ? `${this.picture.samples.length} samples${how}${after}` : `first answer${how}${after}`);
    if (newest && this.picture.warnings.length) this.warn(this.picture.warnings[0]);
  }

  lost() {
    setData(this.element, { connected: "false" });
    this.say("connection lost, trying again");
  }

  say(text) {
    this.status.textContent = text;
  }

  warn(sentence) {
    this.alert.textContent = sentence;
    this.alert.hidden = false;
  }

  fail(sentence) {
    this.warn(sentence);
    setData(this.element, { busy: "false" });
  }

  select(index) {
    this.selected = index;
    this.update?.();
  }

  setOutput(output) {
    this.output = output;
    this.redraw();
  }

  show(shown) {
    this.shown = shown;
    this.redraw();
  }

  setPlacing(placing) {
    this.placing = placing;
    this.update();
  }

  /** Field that a plane shows: the mean, a sample, or the exact mean. */
  shownField(picture) {
    const sample = /^sample (\d+)$/.exec(this.shown);
    if (sample) return picture.samples[Number(sample[1]) - 1] ?? picture.mean;
    return (this.shown === "exact mean" && picture.truth?.mean) || picture.mean;
  }

  probeAt(x) {
    if (!this.picture) return;
    const away = this.picture.x.map((row) => Math.abs(row[0] - x));
    this.setProbe(away.indexOf(Math.min(...away)));
  }

  setProbe(index) {
    if (index === this.probe) return;
    this.probe = index;
    this.redraw();
  }

  redraw() {
    if (!this.hello) return;
    this.draw();
    this.update();
    this.read();
  }

  /** Numbers at one target, in words. */
  read() {
    const picture = this.picture;
    if (!picture) return;
    const i = Math.min(this.probe, picture.x.length - 1);
    assign(this.slider, { max: picture.x.length - 1, value: i });
    const at = this.hello.inputs.map((input, k) => `${input.name} ${say(picture.x[i][k])}`).join(", ");
    let text = "";
    if (this.hello.kind === "globe") {
      text = `mean at ${picture.mean[i].map(say).join("°, ")}°, spread ${say(picture.spread_km[i])} km`;
      const near = picture.near;
      if (near) text += `; passes the location with probability ${say(near.probability)} ± ${say(near.error)}`;
    } else {
      const parts = this.hello.vector ? [0, 1] : [this.output];
      text = parts.map((k) => {
        const name = this.hello.outputs[k].name;
        const exact = picture.truth ? `; exact ${say(picture.truth.mean[i][k])} (${say(picture.truth.low[i][k])} to ${say(picture.truth.high[i][k])})` : "";
        return `${name} ${say(picture.mean[i][k])} (${say(picture.low[i][k])} to ${say(picture.high[i][k])})${exact}`;
      }).join(", ");
    }
    this.readout.textContent = `at ${at}: ${text}`;
  }

  resize() {
    const box = this.svg.getBoundingClientRect();
    if (!box.width || !box.height) return;
    this.size = [box.width, box.height];
    this.svg.setAttribute("viewBox", `0 0 ${box.width} ${box.height}`);
    this.redraw();
  }

  keys(event) {
    const command = event.ctrlKey || event.metaKey;
    if (!command || event.key.toLowerCase() !== "z" || !this.history) return;
    if (/^(INPUT|SELECT)$/.test(event.target.tagName) && event.target.type === "text") return;
    event.preventDefault();
    event.shiftKey ? this.redo() : this.undo();
  }

  async exportFile(what, ending) {
    try {
      const file = await this.client.request({ type: "export", state: this.state, what, ending });
      const bytes = Uint8Array.from(atob(file.content), (letter) => letter.charCodeAt(0));
      const address = URL.createObjectURL(new Blob([bytes], { type: file.media }));
      h("a", { href: address, download: file.name }).click();
      setTimeout(() => URL.revokeObjectURL(address), 10_000);
    } catch (error) {
      this.fail(error.message);
    }
  }

  async importFile(file) {
    try {
      if (file.size > MAX_FILE) throw new Error(`expected a file of at most ${MAX_FILE} bytes, got ${file.size}`);
      const bytes = new Uint8Array(await file.arrayBuffer());
      const content = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
      const answer = await this.client.request({ type: "import", name: file.name, content });
      this.change({ ...this.state, observations: answer.observations });
    } catch (error) {
      this.fail(error.message);
    }
  }

  async copyLink() {
    const link = this.options.link(this.state);
    this.element.dataset.link = link;
    try {
      await navigator.clipboard.writeText(link);
      this.say("link copied");
    } catch {
      this.say(link);
    }
  }

  close() {
    this.observer.disconnect();
    this.wire.close();
  }
}

function setData(element, values) {
  for (const [name, value] of Object.entries(values)) element.dataset[name] = String(value);
}

/** A view of the widget, as anywidget calls it. */
export function render({ model, el }) {
  const wire = connectWidget(model);
  const app = mount(el, wire);
  return () => app.close();
}
