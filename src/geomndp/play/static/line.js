// A function of one input: samples, band and exact law; observations are dragged.
import { assign, fill, follow, pointerIn, s, say } from "./dom.js";
import { handleKeys, handleWheel, removeByDoubleClick, sayObservation } from "./observations.js";
import { withObservation } from "./state.js";
import { d3 } from "./vendor/d3.js";

const LINE_MARGIN = { left: 52, right: 14, top: 14, bottom: 40 };

/** The picture of a line; returns its `draw`. */
export function lineScene(app, root) {
  const layers = {};
  for (const name of ["axes", "band", "samples", "mean", "truth", "probe", "handles"]) {
    layers[name] = root.appendChild(s("g", { class: name }));
  }
  const band = layers.band.appendChild(s("path", { class: "band-area" }));
  const mean = layers.mean.appendChild(s("path", { class: "mean-line" }));
  const exact = ["mean", "low", "high"].map((part) => layers.truth.appendChild(s("path", { class: `exact exact-${part}` })));
  const probe = layers.probe.appendChild(s("line", { class: "probe-line" }));
  let frozen = null; // range of the outputs while something is dragged
  let scales = null;

  const range = () => {
    const k = app.output;
    const [low, high] = app.hello.outputs[k].range;
    const ends = [low, high];
    for (const row of app.state.observations) {
      if (row.y[k] !== null) ends.push(row.y[k] - 2 * (row.std ?? 0), row.y[k] + 2 * (row.std ?? 0));
    }
    for (const part of app.picture ? ["low", "high"] : []) ends.push(...app.picture[part].map((row) => row[k]));
    const [least, most] = [Math.min(...ends), Math.max(...ends)];
    const extra = 0.05 * (most - least || 1);
    return [least - extra, most + extra];
  };

  const rowAt = (event, row) => {
    const [px, py] = pointerIn(root, event);
    const y = [...row.y];
    y[app.output] = scales.y.invert(Math.max(0, Math.min(py, app.size[1])));
    const [low, high] = app.state.view[0];
    return { ...row, x: [Math.max(low, Math.min(high, scales.x.invert(px)))], y };
  };

  const drag = (event, index) => {
    event.preventDefault();
    frozen = range();
    app.select(index);
    follow(
      root, event,
      (next) => app.change(withObservation(app.state, index, rowAt(next, app.state.observations[index])), false),
      () => {
        frozen = null;
        app.change(app.state);
      },
    );
  };

  root.addEventListener("pointerdown", (event) => {
    if (event.button || !scales) return;
    app.pressed = null;
    const [px, py] = pointerIn(root, event);
    if (px < LINE_MARGIN.left || py > app.size[1] - LINE_MARGIN.bottom) return;
    const index = app.state.observations.length;
    const row = rowAt(event, { x: [0], y: app.hello.outputs.map(() => null), std: 0 });
    app.change(withObservation(app.state, index, row), false);
    drag(event, index);
  });
  root.addEventListener("pointermove", (event) => scales && app.probeAt(scales.x.invert(pointerIn(root, event)[0])));

  removeByDoubleClick(app, root);

  const least = () => 0.01 * (app.hello.outputs[app.output].range[1] - app.hello.outputs[app.output].range[0]);
  const moved = (row, dx, dy) => {
    const [low, high] = app.state.view[0];
    const [bottom, top] = app.hello.outputs[app.output].range;
    const y = [...row.y];
    y[app.output] = (y[app.output] ?? 0) + 0.01 * dy * (top - bottom);
    return { ...row, x: [row.x[0] + 0.01 * dx * (high - low)], y };
  };

  const makeHandle = (i) => {
    const at = () => i;
    const circle = s("circle", {
      class: "handle", r: 7, tabindex: 0, role: "button",
      onpointerdown: (event) => {
        event.stopPropagation();
        app.pressed = i;
        circle.focus({ preventScroll: true });
        drag(event, i);
      },
      onkeydown: (event) => handleKeys(app, at, moved, least())(event),
      onfocus: () => app.select(i),
    });
    const group = s("g", {}, s("line", { class: "error-bar" }), circle);
    group.addEventListener("wheel", (event) => handleWheel(app, at, least())(event), { passive: false });
    return group;
  };

  const drawHandles = () => {
    const k = app.output;
    fill(layers.handles, app.state.observations, makeHandle, (group, row, i) => {
      const [bar, circle] = group.children;
      const [x, value] = [scales.x(row.x[0]), row.y[k]];
      assign(group, { class: value === null ? "missing" : "observed" });
      assign(circle, { cx: x, cy: scales.y(value ?? 0), "aria-label": sayObservation(app.hello, row, i) });
      assign(bar, { x1: x, x2: x, y1: scales.y((value ?? 0) - 2 * (row.std ?? 0)), y2: scales.y((value ?? 0) + 2 * (row.std ?? 0)) });
      circle.classList.toggle("selected", i === app.selected);
    });
  };

  const drawPicture = (picture) => {
    const k = app.output;
    const curve = d3.line().x((_, i) => scales.x(picture.x[i][0])).y((row) => scales.y(row[k]));
    const between = d3.area().x((_, i) => scales.x(picture.x[i][0])).y0((_, i) => scales.y(picture.low[i][k])).y1((_, i) => scales.y(picture.high[i][k]));
    band.setAttribute("d", between(picture.x));
    mean.setAttribute("d", curve(picture.mean));
    fill(layers.samples, picture.samples, () => s("path", { class: "sample-line" }), (path, rows) => path.setAttribute("d", curve(rows)));
    exact.forEach((path, i) => {
      const rows = picture.truth?.[["mean", "low", "high"][i]];
      path.setAttribute("d", rows ? curve(rows) : "");
    });
    const x = scales.x(picture.x[Math.min(app.probe, picture.x.length - 1)][0]);
    assign(probe, { x1: x, x2: x, y1: LINE_MARGIN.top, y2: app.size[1] - LINE_MARGIN.bottom });
  };

  return () => {
    scales = planeScales(app.state.view[0], frozen ?? range(), app.size, LINE_MARGIN);
    drawAxes(layers.axes, scales, app.size, LINE_MARGIN, [app.hello.inputs[0], app.hello.outputs[app.output]]);
    if (app.picture) drawPicture(app.picture);
    drawHandles();
  };
}

/** Linear scales of a rectangle. */
export function planeScales(across, up, size, margin) {
  return {
    x: d3.scaleLinear(across, [margin.left, size[0] - margin.right]),
    y: d3.scaleLinear(up, [size[1] - margin.bottom, margin.top]),
  };
}

/** Axes with a few numbers and their names. */
export function drawAxes(layer, scales, size, margin, variables) {
  const name = ({ name, units }) => (units ? `${name} [${units}]` : name);
  const bottom = size[1] - margin.bottom;
  const items = [
    ...scales.x.ticks(Math.max(3, size[0] / 90)).map((value) => ({ x: scales.x(value), y: bottom + 16, text: say(value), line: [scales.x(value), margin.top, scales.x(value), bottom] })),
    ...scales.y.ticks(Math.max(3, size[1] / 60)).map((value) => ({ x: margin.left - 8, y: scales.y(value) + 4, end: true, text: say(value), line: [margin.left, scales.y(value), size[0] - margin.right, scales.y(value)] })),
    { x: (margin.left + size[0] - margin.right) / 2, y: size[1] - 6, text: name(variables[0]), title: true },
    { x: margin.left + 4, y: margin.top + 8, text: name(variables[1]), title: true, start: true },
  ];
  fill(layer, items, () => s("g", {}, s("line"), s("text")), (group, item) => {
    const [x1, y1, x2, y2] = item.line ?? [0, 0, 0, 0];
    assign(group.children[0], { class: "grid-line", x1, y1, x2, y2 });
    const anchor = item.end ? "end" : item.start ? "start" : "middle";
    assign(group.children[1], { class: item.title ? "axis-title" : "tick", x: item.x, y: item.y, "text-anchor": anchor, textContent: item.text });
  });
}
