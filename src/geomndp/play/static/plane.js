// Fields over the plane: the mean as arrows or colours, its uncertainty, streams, observations.
import { assign, fill, follow, pointerIn, s } from "./dom.js";
import { drawAxes, planeScales } from "./line.js";
import { handleKeys, handleWheel, removeByDoubleClick, sayObservation } from "./observations.js";
import { withObservation } from "./state.js";
import { streamLines } from "./streams.js";
import { d3 } from "./vendor/d3.js";

const PLANE_MARGIN = { left: 46, right: 12, top: 12, bottom: 38 };
// Cividis, which people with any colour vision read alike (Nunez, Anderton and Renslow 2018).
const CIVIDIS = ["#00224e", "#1a386f", "#434e6c", "#61656f", "#7d7c78", "#9b9476", "#bbad6c", "#ddc85a", "#fee838"];

/** Colour of a share between 0 and 1. */
export function colourOf(share) {
  const at = Math.max(0, Math.min(1, share)) * (CIVIDIS.length - 1);
  const i = Math.min(Math.floor(at), CIVIDIS.length - 2);
  const part = (text, k) => parseInt(text.slice(1 + 2 * k, 3 + 2 * k), 16);
  const mixed = [0, 1, 2].map((k) => Math.round(part(CIVIDIS[i], k) + (at - i) * (part(CIVIDIS[i + 1], k) - part(CIVIDIS[i], k))));
  return `rgb(${mixed.join(",")})`;
}

/** The picture of a field; returns its `draw`. */
export function planeScene(app, root) {
  const layers = {};
  for (const name of ["axes", "cells", "streams", "arrows", "handles"]) layers[name] = root.appendChild(s("g", { class: name }));
  const vector = app.hello.vector;
  let scales = null;
  let unit = 1; // of an output, in the length of an input

  const setScales = () => {
    const side = Math.min(app.size[0] - PLANE_MARGIN.left - PLANE_MARGIN.right, app.size[1] - PLANE_MARGIN.top - PLANE_MARGIN.bottom);
    const [across, up] = app.state.view;
    const pixels = side / Math.max(across[1] - across[0], up[1] - up[0]);
    const right = app.size[0] - PLANE_MARGIN.left - pixels * (across[1] - across[0]);
    const top = app.size[1] - PLANE_MARGIN.bottom - pixels * (up[1] - up[0]);
    scales = planeScales(across, up, app.size, { ...PLANE_MARGIN, right, top });
    const largest = Math.max(...app.hello.outputs.flatMap((output) => output.range.map(Math.abs)));
    unit = (0.12 * (across[1] - across[0])) / (largest || 1);
    return { ...PLANE_MARGIN, right, top };
  };

  const valueOf = (row) => (vector ? row.y : [0, row.y[app.output] ?? 0]);
  const tipOf = (row) => {
    const [u, v] = valueOf(row);
    return [scales.x(row.x[0] + unit * u), scales.y(row.x[1] + unit * v)];
  };
  const inside = (point) => point.map((value, i) => Math.max(app.state.view[i][0], Math.min(app.state.view[i][1], value)));
  const pointAt = (event) => {
    const [px, py] = pointerIn(root, event);
    return [scales.x.invert(px), scales.y.invert(py)];
  };
  const withTip = (row, point) => {
    const value = [0, 1].map((i) => (point[i] - row.x[i]) / unit);
    if (vector) return { ...row, y: value };
    return { ...row, y: row.y.map((old, k) => (k === app.output ? value[1] : old)) };
  };
  const drag = (event, index, tip) => {
    event.preventDefault();
    app.select(index);
    follow(
      root, event,
      (next) => {
        const row = app.state.observations[index];
        const point = pointAt(next);
        app.change(withObservation(app.state, index, tip ? withTip(row, point) : { ...row, x: inside(point) }), false);
      },
      () => app.change(app.state),
    );
  };
  root.addEventListener("pointerdown", (event) => {
    if (event.button || !scales) return;
    app.pressed = null;
    const point = pointAt(event);
    if (inside(point).some((value, i) => value !== point[i])) return;
    const index = app.state.observations.length;
    const y = app.hello.outputs.map((_, k) => (vector || k === app.output ? 0 : null));
    app.change(withObservation(app.state, index, { x: point, y, std: 0 }), false);
    drag(event, index, true);
  });
  root.addEventListener("pointermove", (event) => {
    if (!scales || !app.picture) return;
    const point = pointAt(event);
    const away = app.picture.x.map((x) => Math.hypot(x[0] - point[0], x[1] - point[1]));
    app.setProbe(away.indexOf(Math.min(...away)));
  });

  removeByDoubleClick(app, root);

  const least = () => 0.01 * (app.hello.outputs[0].range[1] - app.hello.outputs[0].range[0]);
  const moved = (row, dx, dy) => {
    const size = app.state.view.map(([low, high]) => 0.01 * (high - low));
    return { ...row, x: inside([row.x[0] + dx * size[0], row.x[1] + dy * size[1]]) };
  };
  const makeHandle = (i) => {
    const press = (tip) => (event) => {
      event.stopPropagation();
      app.pressed = i;
      event.currentTarget.focus?.({ preventScroll: true });
      drag(event, i, tip);
    };
    const base = s("circle", {
      class: "handle", r: 7, tabindex: 0, role: "button", onpointerdown: press(false), onfocus: () => app.select(i),
      onkeydown: (event) => handleKeys(app, () => i, moved, least())(event),
    });
    const group = s("g", {}, s("circle", { class: "error-disc" }), s("line", { class: "observed-arrow" }), base, s("circle", { class: "tip", r: 6, onpointerdown: press(true) }));
    group.addEventListener("wheel", (event) => handleWheel(app, () => i, least())(event), { passive: false });
    return group;
  };
  const drawHandles = () => {
    fill(layers.handles, app.state.observations, makeHandle, (group, row, i) => {
      const [disc, arrow, base, tip] = group.children;
      const [x, y, [tx, ty]] = [scales.x(row.x[0]), scales.y(row.x[1]), tipOf(row)];
      assign(group, { class: !vector && row.y[app.output] === null ? "missing" : "observed" });
      assign(disc, { cx: tx, cy: ty, r: Math.abs(scales.x(unit * 2 * (row.std ?? 0)) - scales.x(0)) });
      assign(arrow, { x1: x, y1: y, x2: tx, y2: ty });
      assign(base, { cx: x, cy: y, "aria-label": sayObservation(app.hello, row, i) });
      assign(tip, { cx: tx, cy: ty });
      base.classList.toggle("selected", i === app.selected);
    });
  };

  const drawCells = (picture, values) => {
    const n = Math.round(Math.sqrt(picture.x.length));
    const [w, hgt] = [Math.abs(scales.x(picture.x[1][0]) - scales.x(picture.x[0][0])), Math.abs(scales.y(picture.x[n][1]) - scales.y(picture.x[0][1]))];
    const [low, high] = [Math.min(...values), Math.max(...values)];
    fill(layers.cells, picture.x, () => s("rect", { class: "cell" }), (cell, x, i) => {
      assign(cell, { x: scales.x(x[0]) - w / 2, y: scales.y(x[1]) - hgt / 2, width: w + 0.5, height: hgt + 0.5, fill: colourOf((values[i] - low) / (high - low || 1)) });
    });
    app.legend = [low, high];
  };
  const drawVectors = (picture) => {
    const shown = app.shownField(picture);
    const n = Math.round(Math.sqrt(picture.x.length));
    const [xs, ys] = [picture.x.slice(0, n).map((x) => x[0]), picture.x.filter((_, i) => i % n === 0).map((x) => x[1])];
    const curve = d3.line().x((p) => scales.x(p[0])).y((p) => scales.y(p[1]));
    fill(layers.streams, streamLines(xs, ys, shown), () => s("path", { class: "stream" }), (path, line) => path.setAttribute("d", curve(line)));
    fill(layers.arrows, picture.x, () => s("line", { class: "arrow", "marker-end": "url(#head)" }), (line, x, i) => {
      const [u, v] = shown[i].map((value) => 0.6 * unit * value);
      assign(line, { x1: scales.x(x[0]), y1: scales.y(x[1]), x2: scales.x(x[0] + u), y2: scales.y(x[1] + v) });
    });
  };

  root.prepend(s("defs", {}, s("marker", { id: "head", viewBox: "0 0 6 6", refX: 5, refY: 3, markerWidth: 5, markerHeight: 5, orient: "auto" }, s("path", { d: "M0,0L6,3L0,6Z", class: "arrow-head" }))));
  return () => {
    const margin = setScales();
    drawAxes(layers.axes, scales, app.size, margin, app.hello.inputs);
    const picture = app.picture;
    if (picture && vector) {
      drawCells(picture, picture.std.map(([a, b]) => Math.hypot(a, b)));
      drawVectors(picture);
    } else if (picture) drawCells(picture, app.shownField(picture).map((row) => row[app.output]));
    drawHandles();
  };
}
