// Elements of HTML and SVG from plain calls; no markup is ever parsed.

const SVG = "http://www.w3.org/2000/svg";
const PROPERTIES = new Set(["value", "checked", "disabled", "textContent", "tabIndex", "hidden"]);

/** Set attributes, properties and listeners (`onclick`) of an element. */
export function assign(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (PROPERTIES.has(name) && name in element) element[name] = value;
    else if (name === "textContent") element.textContent = value;
    else if (value === null || value === false || value === undefined) element.removeAttribute(name);
    else element.setAttribute(name, value === true ? "" : value);
  }
  return element;
}

/** An element of HTML. */
export function h(tag, attributes = {}, ...children) {
  const element = assign(document.createElement(tag), attributes);
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** An element of SVG. */
export function s(tag, attributes = {}, ...children) {
  const element = assign(document.createElementNS(SVG, tag), attributes);
  element.append(...children);
  return element;
}

/** A number for people: four digits, without an exponent where it can be helped. */
export function say(value) {
  if (!Number.isFinite(value)) return "none";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(2);
  return String(Number(value.toPrecision(4)));
}

/** Make one child element per item, reusing those that are there. */
export function fill(parent, items, make, update) {
  while (parent.children.length > items.length) parent.lastChild.remove();
  items.forEach((item, i) => {
    if (!parent.children[i]) parent.append(make(i));
    update(parent.children[i], item, i);
  });
}

/** Position of a pointer inside an element, in pixels. */
export function pointerIn(element, event) {
  const box = element.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

/** Follow a pointer from the event that pressed it until it is released. */
export function follow(element, event, onMove, onEnd) {
  element.setPointerCapture?.(event.pointerId);
  const move = (next) => next.pointerId === event.pointerId && onMove(next);
  const end = (next) => {
    if (next.pointerId !== event.pointerId) return;
    element.removeEventListener("pointermove", move);
    element.removeEventListener("pointerup", end);
    element.removeEventListener("pointercancel", end);
    onEnd(next);
  };
  element.addEventListener("pointermove", move);
  element.addEventListener("pointerup", end);
  element.addEventListener("pointercancel", end);
}
