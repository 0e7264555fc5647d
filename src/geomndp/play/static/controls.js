// The panel beside the picture: settings, observations as numbers, files and links.
import { assign, fill, h } from "./dom.js";
import { fixStep } from "./globe.js";
import { withObservation } from "./state.js";

/** Build the panel; returns its `update`. */
export function controls(app, panel) {
  const updates = [];
  const settings = settingsPart(app, updates);
  const edit = historyPart(app, updates);
  const rows = observationsPart(app, updates);
  const location = app.hello.kind === "globe" ? locationPart(app, updates) : null;
  panel.replaceChildren(...[edit, settings, location, rows, filesPart(app)].filter(Boolean));
  return () => updates.forEach((update) => update());
}

/** A labelled field for a number; what is no number is marked, and changes nothing. */
export function numberField(label, read, write, options = {}) {
  const input = h("input", {
    type: "number", step: options.step ?? "any", min: options.min ?? null, max: options.max ?? null,
    placeholder: options.placeholder ?? null, "aria-label": options.aria ?? null,
    onchange: () => {
      const blank = input.value.trim() === "" && !input.validity.badInput;
      const value = blank ? null : Number(input.value);
      const whole = options.step !== 1 || Number.isInteger(value);
      const wrong = blank ? !options.optional : !Number.isFinite(value) || !whole;
      assign(input, { "aria-invalid": wrong ? "true" : null });
      if (!wrong) write(value);
    },
  });
  const update = () => {
    if (document.activeElement !== input || input.getAttribute("aria-invalid") === null) {
      const value = read();
      input.value = value === null || value === undefined ? "" : Number(value.toPrecision(7));
      assign(input, { "aria-invalid": null });
    }
  };
  return { element: label === null ? input : h("label", {}, label, input), update };
}

function settingsPart(app, updates) {
  const add = (field) => {
    updates.push(field.update);
    return field.element;
  };
  const of = (label, name, options) => add(numberField(label, () => app.state[name], (value) => app.change({ ...app.state, [name]: value }), options));
  const { hello } = app;
  const fields = [
    of("Samples", "samples", { step: 1, min: 2, max: hello.max_samples }),
    of(["plane", "earth"].includes(hello.kind) ? "Points per side" : "Points", "targets", { step: 1, min: hello.targets[1], max: hello.targets[2] }),
    of("Seed", "seed", { step: 1, min: 0 }),
  ];
  if (hello.samplers.length) {
    fields.unshift(choice("Sampler", ["auto", ...hello.samplers], () => app.state.sampler, (sampler) => app.change({ ...app.state, sampler }), updates));
    fields.splice(1, 0, of("Steps", "steps", { step: 1, min: 1, max: 200, optional: true, placeholder: "auto" }));
  }
  hello.inputs.forEach((input, i) => {
    ["from", "to"].forEach((word, end) => {
      const write = (value) => app.change({ ...app.state, view: app.state.view.map((range, k) => (k === i ? range.map((old, e) => (e === end ? value : old)) : range)) });
      fields.push(add(numberField(`${input.name} ${word}`, () => app.state.view[i][end], write)));
    });
  });
  if (hello.outputs.length > 1 && hello.kind !== "globe" && !hello.vector) {
    const names = hello.outputs.map((output) => output.name);
    fields.push(choice("Output", names, () => names[app.output], (name) => app.setOutput(names.indexOf(name)), updates));
  }
  if (["plane", "earth"].includes(hello.kind)) {
    fields.push(choice("Show", ["mean", "sample 1", "sample 2", ...(hello.truth ? ["exact mean"] : [])], () => app.shown, (shown) => app.show(shown), updates));
  }
  if (hello.truth) {
    const box = h("input", { type: "checkbox", onchange: () => app.change({ ...app.state, truth: box.checked }) });
    updates.push(() => { box.checked = app.state.truth; });
    fields.push(h("label", { class: "check" }, box, "Exact law"));
  }
  return h("fieldset", { class: "settings" }, h("legend", {}, "Settings"), ...fields);
}

function choice(label, names, read, write, updates) {
  const select = h("select", { "aria-label": label, onchange: () => write(select.value) }, ...names.map((name) => h("option", { value: name }, name)));
  updates.push(() => { select.value = read(); });
  return h("label", {}, label, select);
}

function historyPart(app, updates) {
  const button = (label, keys, act) => h("button", { type: "button", onclick: act, title: keys }, label);
  const undo = button("Undo", "Ctrl+Z", () => app.undo());
  const redo = button("Redo", "Ctrl+Shift+Z", () => app.redo());
  const clear = button("Clear", "", () => app.change({ ...app.state, observations: [] }));
  updates.push(() => {
    undo.disabled = !app.history.past.length;
    redo.disabled = !app.history.future.length;
    clear.disabled = !app.state.observations.length;
  });
  return h("div", { class: "buttons", role: "group", "aria-label": "History" }, undo, redo, clear);
}

function observationsPart(app, updates) {
  const { hello } = app;
  const unit = hello.kind === "globe" ? " (km)" : "";
  const heads = [...hello.inputs.map((v) => v.name), ...hello.outputs.map((v) => v.name), `error${unit}`];
  const body = h("tbody");
  const read = (row, c) => [...row.x, ...row.y, row.std ?? 0][c];
  const write = (i, c, value) => {
    const row = structuredClone(app.state.observations[i]);
    if (c < row.x.length) row.x[c] = value;
    else if (c < row.x.length + row.y.length) row.y[c - row.x.length] = value;
    else row.std = value;
    app.change(withObservation(app.state, i, row));
  };
  const make = (i) => {
    const fields = heads.map((name, c) => {
      const optional = hello.outputs_apart && hello.outputs.length > 1 && c >= hello.inputs.length && c < heads.length - 1;
      return numberField(null, () => read(app.state.observations[i], c), (value) => write(i, c, value), { aria: `${name} of observation ${i + 1}`, optional });
    });
    const remove = h("button", { type: "button", "aria-label": `Remove observation ${i + 1}`, onclick: () => app.change(withObservation(app.state, i, null)) }, "×");
    const row = h("tr", {}, ...fields.map((field) => h("td", {}, field.element)), h("td", {}, remove));
    row.refresh = () => fields.forEach((field) => field.update());
    return row;
  };
  updates.push(() => fill(body, app.state.observations, make, (row, _, i) => {
    row.refresh();
    row.classList.toggle("selected", i === app.selected);
  }));
  const middle = (range) => (range[0] + range[1]) / 2;
  const add = h("button", {
    type: "button",
    onclick: () => {
      const times = app.state.observations.map((row) => row.x[0]);
      const x = app.state.view.map(middle);
      if (hello.kind === "globe") x[0] = times.length ? Math.max(...times) + fixStep(hello) : app.state.view[0][0];
      const last = app.state.observations[app.state.observations.length - 1];
      const y = hello.kind === "globe" ? last?.y ?? [20, -55] : hello.outputs.map((_, k) => (hello.vector || k === app.output ? 0 : null));
      app.change(withObservation(app.state, app.state.observations.length, { x, y: [...y], std: 0 }));
    },
  }, "Add observation");
  const head = h("thead", {}, h("tr", {}, ...heads.map((name) => h("th", { scope: "col" }, name)), h("th", { scope: "col" }, h("span", { class: "hidden" }, "remove"))));
  return h("fieldset", { class: "observations" }, h("legend", {}, "Observations"), h("div", { class: "scroll" }, h("table", {}, head, body)), add);
}

function locationPart(app, updates) {
  const field = (label, name) => {
    const read = () => app.state.near?.[name] ?? null;
    const write = (value) => app.change({ ...app.state, near: { lat: 0, lon: 0, km: 150, ...app.state.near, [name]: value } });
    const made = numberField(label, read, write);
    updates.push(made.update);
    return made.element;
  };
  const place = h("button", { type: "button", "aria-pressed": "false", onclick: () => app.setPlacing(app.placing === "location" ? "fix" : "location") }, "Place by click");
  const clear = h("button", { type: "button", onclick: () => app.change({ ...app.state, near: null }) }, "Remove");
  updates.push(() => {
    place.setAttribute("aria-pressed", String(app.placing === "location"));
    clear.disabled = !app.state.near;
  });
  return h("fieldset", { class: "location" }, h("legend", {}, "Location to pass"), field("Latitude", "lat"), field("Longitude", "lon"), field("Within km", "km"), h("div", { class: "buttons" }, place, clear));
}

function filesPart(app) {
  const what = h("select", { "aria-label": "What to save" }, ...["observations", "samples"].map((name) => h("option", { value: name }, name)));
  const endings = app.hello.kind === "line" ? ["csv", "nc"] : ["csv", "nc", "geojson"];
  const ending = h("select", { "aria-label": "Format" }, ...endings.map((name) => h("option", { value: name }, name)));
  const save = h("button", { type: "button", onclick: () => app.exportFile(what.value, ending.value) }, "Save file");
  const open = h("input", { type: "file", accept: ".csv,.nc", "aria-label": "Open observations", onchange: () => open.files[0] && app.importFile(open.files[0]).finally(() => { open.value = ""; }) });
  const link = h("button", { type: "button", onclick: () => app.copyLink() }, "Copy link");
  const parts = [h("div", { class: "buttons" }, what, ending, save), h("label", {}, "Open observations", open), app.options.link ? link : null];
  return h("fieldset", { class: "files" }, h("legend", {}, "Files"), ...parts);
}
