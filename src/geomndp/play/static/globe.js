// Tracks on the globe: it turns, fixes are placed and dragged, tracks fan out.
import { assign, fill, follow, s } from "./dom.js";
import { earthBase } from "./earth.js";
import { handleKeys, handleWheel, removeByDoubleClick, sayObservation } from "./observations.js";
import { withObservation } from "./state.js";
import { d3 } from "./vendor/d3.js";

const SIX_HOURS = { days: 0.25, hours: 6, minutes: 360, seconds: 21600 };

/** The picture of a globe; returns its `draw`. */
export function globeScene(app, root) {
  app.rotation ??= firstRotation(app);
  const add = (where) => {
    const times = app.state.observations.map((row) => row.x[0]);
    const time = times.length ? Math.max(...times) + fixStep(app.hello) : app.state.view[0][0];
    const index = app.state.observations.length;
    app.select(index);
    app.change(withObservation(app.state, index, { x: [time], y: where, std: 0 }));
  };
  const clicked = (where, event) => {
    if (event.shiftKey || app.placing === "location") {
      app.change({ ...app.state, near: { lat: where[0], lon: where[1], km: app.state.near?.km ?? 150 } });
    } else add(where);
  };
  const { projection, path, layers, visible, placeAt, draw } = earthBase(app, root, ["tracks", "mean", "near", "handles"], clicked);
  const meanPath = layers.mean.appendChild(s("path", { class: "mean-line" }));
  const nearPath = layers.near.appendChild(s("path", { class: "near-circle" }));
  const drag = (event, index) => {
    event.preventDefault();
    app.select(index);
    follow(
      root, event,
      (next) => {
        const where = placeAt(next);
        if (where) app.change(withObservation(app.state, index, { ...app.state.observations[index], y: where }), false);
      },
      () => app.change(app.state),
    );
  };
  removeByDoubleClick(app, root);

  const moved = (row, dx, dy) => {
    const lon = row.y[1] + 0.5 * dx;
    return { ...row, y: [Math.max(-90, Math.min(90, row.y[0] + 0.5 * dy)), ((lon + 540) % 360) - 180] };
  };
  const makeHandle = (i) => {
    const circle = s("circle", {
      class: "handle", r: 6, tabindex: 0, role: "button", onfocus: () => app.select(i),
      onpointerdown: (event) => {
        event.stopPropagation();
        app.pressed = i;
        circle.focus({ preventScroll: true });
        drag(event, i);
      },
      onkeydown: (event) => handleKeys(app, () => i, moved, 10)(event),
    });
    const group = s("g", {}, s("path", { class: "error-disc" }), circle);
    group.addEventListener("wheel", (event) => handleWheel(app, () => i, 10)(event), { passive: false });
    return group;
  };
  const drawHandles = () => {
    fill(layers.handles, app.state.observations, makeHandle, (group, row, i) => {
      const [disc, circle] = group.children;
      const at = projection([row.y[1], row.y[0]]) ?? [0, 0];
      assign(group, { class: visible(row.y) ? "observed" : "behind" });
      disc.setAttribute("d", row.std ? path(circleAround(row.y, 2 * row.std)) ?? "" : "");
      assign(circle, { cx: at[0], cy: at[1], "aria-label": sayObservation(app.hello, row, i) });
      circle.classList.toggle("selected", i === app.selected);
    });
  };
  const lineOf = (track) => ({ type: "LineString", coordinates: track.map(([lat, lon]) => [lon, lat]) });
  const withLast = (track) => {
    const last = app.state.observations.reduce((best, row) => (!best || row.x[0] > best.x[0] ? row : best), null);
    return last && app.picture.x[0][0] > last.x[0] ? [last.y, ...track] : track;
  };

  return () => {
    draw();
    if (app.picture) {
      fill(layers.tracks, app.picture.samples, () => s("path", { class: "sample-line" }), (each, track) => each.setAttribute("d", path(lineOf(withLast(track))) ?? ""));
      meanPath.setAttribute("d", path(lineOf(withLast(app.picture.mean))) ?? "");
    }
    const near = app.state.near;
    nearPath.setAttribute("d", near ? path(circleAround([near.lat, near.lon], near.km)) ?? "" : "");
    drawHandles();
  };
}

/** Time between fixes that are placed one after another: six hours, or a share of the range. */
export function fixStep(hello) {
  const [input] = hello.inputs;
  return SIX_HOURS[input.units] ?? (input.range[1] - input.range[0]) / 24;
}

/** Circle on the Earth around a latitude and longitude, radius in km. */
export function circleAround([lat, lon], km) {
  return d3.geoCircle().center([lon, lat]).radius((km / 6371) * (180 / Math.PI))();
}

function firstRotation(app) {
  const last = app.state.observations[app.state.observations.length - 1];
  return last ? [-last.y[1], -last.y[0]] : [55, -20];
}
