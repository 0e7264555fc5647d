// Fields over the Earth: the mean as arrows or colours on the globe, its uncertainty, observations.
import { assign, fill, follow, pointerIn, s } from "./dom.js";
import { earthBase } from "./earth.js";
import { handleKeys, handleWheel, removeByDoubleClick, sayObservation } from "./observations.js";
import { colourOf } from "./plane.js";
import { withObservation } from "./state.js";

const LARGEST_DEGREES = 14; // of the arrow of the largest value in training
const wrapped = ([lat, lon]) => [Math.max(-90, Math.min(90, lat)), ((((lon + 180) % 360) + 360) % 360) - 180];

/** End of an arrow from a latitude and longitude, components east and north in degrees of arc. */
export function arrowEnd([lat, lon], [east, north]) {
  const arc = (Math.hypot(east, north) * Math.PI) / 180;
  const bearing = Math.atan2(east, north);
  const phi = (lat * Math.PI) / 180;
  const end = Math.asin(Math.max(-1, Math.min(1, Math.sin(phi) * Math.cos(arc) + Math.cos(phi) * Math.sin(arc) * Math.cos(bearing))));
  const turn = Math.atan2(Math.sin(bearing) * Math.sin(arc) * Math.cos(phi), Math.cos(arc) - Math.sin(phi) * Math.sin(end));
  return wrapped([(end * 180) / Math.PI, lon + (turn * 180) / Math.PI]);
}

/** Components east and north, in degrees of arc, of the arrow that leads from one location to another. */
export function arrowTo([lat, lon], [toLat, toLon]) {
  const [phi, psi, turn] = [lat, toLat, toLon - lon].map((value) => (value * Math.PI) / 180);
  const east = Math.cos(psi) * Math.sin(turn);
  const north = Math.cos(phi) * Math.sin(psi) - Math.sin(phi) * Math.cos(psi) * Math.cos(turn);
  const up = Math.sin(phi) * Math.sin(psi) + Math.cos(phi) * Math.cos(psi) * Math.cos(turn);
  const sine = Math.hypot(east, north);
  const arc = (Math.atan2(sine, up) * 180) / Math.PI;
  return sine ? [(arc * east) / sine, (arc * north) / sine] : [0, 0];
}

/** The picture of a field over the Earth; returns its `draw`. */
export function fieldScene(app, root) {
  const { vector, outputs } = app.hello;
  const largest = Math.max(...outputs.flatMap((output) => output.range.map(Math.abs)));
  const unit = LARGEST_DEGREES / (largest || 1); // degrees of arc of an output
  app.rotation ??= [0, -20];
  const clicked = (where) => {
    const index = app.state.observations.length;
    const y = outputs.map((_, k) => (vector || k === app.output ? 0 : null));
    app.select(index);
    app.change(withObservation(app.state, index, { x: wrapped(where), y, std: 0 }));
  };
  const { projection, layers, visible, placeAt, draw } = earthBase(app, root, ["cells", "arrows", "handles"], clicked);

  const valueOf = (row) => (vector ? row.y : [0, row.y[app.output] ?? 0]);
  const tipOf = (row) => arrowEnd(row.x, valueOf(row).map((value) => unit * value));
  const withTip = (row, where) => {
    const value = arrowTo(row.x, where).map((part) => part / unit);
    if (vector) return { ...row, y: value };
    return { ...row, y: row.y.map((old, k) => (k === app.output ? value[1] : old)) };
  };
  const drag = (event, index, tip) => {
    event.preventDefault();
    app.select(index);
    follow(
      root, event,
      (next) => {
        const where = placeAt(next);
        const row = app.state.observations[index];
        if (where) app.change(withObservation(app.state, index, tip ? withTip(row, where) : { ...row, x: wrapped(where) }), false);
      },
      () => app.change(app.state),
    );
  };
  root.addEventListener("pointermove", (event) => {
    if (!app.picture) return;
    const [px, py] = pointerIn(root, event);
    const away = app.picture.x.map((x) => {
      const at = visible(x) ? projection([x[1], x[0]]) : null;
      return at ? Math.hypot(at[0] - px, at[1] - py) : Infinity;
    });
    const least = Math.min(...away);
    if (Number.isFinite(least)) app.setProbe(away.indexOf(least));
  });
  removeByDoubleClick(app, root);

  const least = 0.01 * (outputs[0].range[1] - outputs[0].range[0]);
  const moved = (row, dx, dy) => ({ ...row, x: wrapped([row.x[0] + 0.5 * dy, row.x[1] + 0.5 * dx]) });
  const makeHandle = (i) => {
    const press = (tip) => (event) => {
      event.stopPropagation();
      app.pressed = i;
      event.currentTarget.focus?.({ preventScroll: true });
      drag(event, i, tip);
    };
    const base = s("circle", {
      class: "handle", r: 7, tabindex: 0, role: "button", onpointerdown: press(false), onfocus: () => app.select(i),
      onkeydown: (event) => handleKeys(app, () => i, moved, least)(event),
    });
    const group = s("g", {}, s("circle", { class: "error-disc" }), s("line", { class: "observed-arrow" }), base, s("circle", { class: "tip", r: 6, onpointerdown: press(true) }));
    group.addEventListener("wheel", (event) => handleWheel(app, () => i, least)(event), { passive: false });
    return group;
  };
  const arrow = (line, from, to) => {
    const [a, b] = [from, to].map(([lat, lon]) => projection([lon, lat]) ?? [0, 0]);
    assign(line, { x1: a[0], y1: a[1], x2: b[0], y2: b[1] });
  };
  const drawHandles = () => {
    fill(layers.handles, app.state.observations, makeHandle, (group, row, i) => {
      const [disc, line, base, tip] = group.children;
      const [at, end] = [row.x, tipOf(row)].map(([lat, lon]) => projection([lon, lat]) ?? [0, 0]);
      assign(group, { class: visible(row.x) ? "observed" : "behind" });
      assign(disc, { cx: end[0], cy: end[1], r: projection.scale() * Math.sin((Math.min(90, 2 * unit * (row.std ?? 0)) * Math.PI) / 180) });
      arrow(line, row.x, tipOf(row));
      assign(base, { cx: at[0], cy: at[1], "aria-label": sayObservation(app.hello, row, i) });
      assign(tip, { cx: end[0], cy: end[1] });
      base.classList.toggle("selected", i === app.selected);
    });
  };
  const drawCells = (values) => {
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const shown = app.picture.x.map((x, i) => [x, values[i]]).filter(([x]) => visible(x));
    fill(layers.cells, shown, () => s("circle", { class: "cell" }), (cell, [x, value]) => {
      const at = projection([x[1], x[0]]) ?? [0, 0];
      assign(cell, { cx: at[0], cy: at[1], r: 0.05 * projection.scale(), fill: colourOf((value - low) / (high - low || 1)) });
    });
    app.legend = [low, high];
  };
  const drawArrows = (field) => {
    const shown = app.picture.x.map((x, i) => [x, field[i]]).filter(([x]) => visible(x));
    fill(layers.arrows, shown, () => s("line", { class: "arrow", "marker-end": "url(#head)" }), (line, [x, value]) => {
      arrow(line, x, arrowEnd(x, value.map((part) => 0.6 * unit * part)));
    });
  };

  root.prepend(s("defs", {}, s("marker", { id: "head", viewBox: "0 0 6 6", refX: 5, refY: 3, markerWidth: 5, markerHeight: 5, orient: "auto" }, s("path", { d: "M0,0L6,3L0,6Z", class: "arrow-head" }))));
  return () => {
    draw();
    if (app.picture) {
      const shown = app.shownField(app.picture);
      drawCells(vector ? app.picture.std.map(([a, b]) => Math.hypot(a, b)) : shown.map((row) => row[app.output]));
      if (vector) drawArrows(shown);
    }
    drawHandles();
  };
}
