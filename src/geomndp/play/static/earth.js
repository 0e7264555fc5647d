// The Earth under tracks and fields: it turns, comes closer, and says where it was clicked.
import { follow, pointerIn, s } from "./dom.js";
import { d3 } from "./vendor/d3.js";

const CLICK_PIXELS = 4;

/**
 * Sea, graticule and coasts in an orthographic projection, turned by dragging.
 *
 * @param app the playground, whose `rotation` and `zoom` are kept
 * @param root the picture
 * @param names classes of further layers, above the land
 * @param clicked (where, event) after a click on the sphere, where = [lat, lon]
 * @returns {projection, path, layers, visible(where), placeAt(event), draw()}
 */
export function earthBase(app, root, names, clicked) {
  const projection = d3.geoOrthographic().clipAngle(90).precision(0.3);
  const path = d3.geoPath(projection);
  const land = d3.feature(app.hello.land, app.hello.land.objects.land);
  const layers = {};
  for (const name of ["globe", ...names]) layers[name] = root.appendChild(s("g", { class: name }));
  const [sea, lines, coast] = ["sea", "graticule", "land"].map((name) => layers.globe.appendChild(s("path", { class: name })));

  const visible = ([lat, lon]) => d3.geoDistance([lon, lat], projection.invert([app.size[0] / 2, app.size[1] / 2])) < Math.PI / 2 - 1e-3;
  const placeAt = (event) => {
    const where = projection.invert(pointerIn(root, event));
    return where && where.every(Number.isFinite) ? [where[1], where[0]] : null;
  };
  root.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    app.pressed = null;
    const [x, y] = pointerIn(root, event);
    const start = [...app.rotation];
    const inSphere = Math.hypot(x - app.size[0] / 2, y - app.size[1] / 2) < projection.scale();
    const where = inSphere ? placeAt(event) : null;
    let farthest = 0;
    follow(
      root, event,
      (next) => {
        const [dx, dy] = [next.clientX - event.clientX, next.clientY - event.clientY];
        farthest = Math.max(farthest, Math.hypot(dx, dy));
        if (farthest < CLICK_PIXELS) return;
        const turn = 60 / projection.scale();
        app.rotation = [start[0] + turn * dx, Math.max(-90, Math.min(90, start[1] - turn * dy))];
        app.redraw();
      },
      (next) => {
        if (farthest < CLICK_PIXELS && where) clicked(where, next);
      },
    );
  });
  root.addEventListener("wheel", (event) => {
    event.preventDefault();
    app.zoom = Math.max(0.8, Math.min(12, (app.zoom ?? 1) * (event.deltaY < 0 ? 1.1 : 1 / 1.1)));
    app.redraw();
  }, { passive: false });
  root.addEventListener("keydown", (event) => {
    const turns = { ArrowLeft: [10, 0], ArrowRight: [-10, 0], ArrowUp: [0, -10], ArrowDown: [0, 10] };
    if (event.target !== root || !turns[event.key]) return;
    event.preventDefault();
    const [dx, dy] = turns[event.key];
    app.rotation = [app.rotation[0] + dx, Math.max(-90, Math.min(90, app.rotation[1] + dy))];
    app.redraw();
  });

  const draw = () => {
    const radius = 0.47 * Math.min(...app.size) * (app.zoom ?? 1);
    projection.scale(radius).translate([app.size[0] / 2, app.size[1] / 2]).rotate(app.rotation);
    sea.setAttribute("d", path({ type: "Sphere" }) ?? "");
    lines.setAttribute("d", path(d3.geoGraticule10()) ?? "");
    coast.setAttribute("d", path(land) ?? "");
    root.dataset.rotation = app.rotation.map((value) => value.toFixed(2)).join(",");
  };
  return { projection, path, layers, visible, placeAt, draw };
}
