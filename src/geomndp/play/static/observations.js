// Handles of observations: dragged, moved by keys, their errors changed by the wheel.
import { say } from "./dom.js";
import { withObservation } from "./state.js";

const FACTOR = 1.15; // of the error, per notch of the wheel

/** Standard deviation of an observation after a notch of the wheel; nothing below `least`. */
export function turnedStd(std, least, up) {
  if (up) return std < least ? least : std * FACTOR;
  return std / FACTOR < least ? 0 : std / FACTOR;
}

/** Words for one observation. */
export function sayObservation(hello, row, index) {
  const parts = hello.inputs.map((input, i) => `${input.name} ${say(row.x[i])}`);
  hello.outputs.forEach((output, i) => row.y[i] !== null && parts.push(`${output.name} ${say(row.y[i])}`));
  if (row.std) parts.push(`error ${say(row.std)}${hello.kind === "globe" ? " km" : ""}`);
  return `observation ${index + 1}: ${parts.join(", ")}`;
}

/**
 * Listeners of one handle.
 *
 * @param app the playground
 * @param at () -> index of the observation
 * @param moved (row, dx, dy) -> the observation after arrow keys, by hundredths of the view
 * @param least smallest error above zero
 */
export function handleKeys(app, at, moved, least) {
  const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  return (event) => {
    const index = at();
    const row = app.state.observations[index];
    if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
    let next = row;
    if (steps[event.key]) {
      const size = event.shiftKey ? 10 : 1;
      next = moved(row, size * steps[event.key][0], size * steps[event.key][1]);
    } else if (event.key === "+" || event.key === "-") {
      next = { ...row, std: turnedStd(row.std ?? 0, least, event.key === "+") };
    } else if (event.key === "Delete" || event.key === "Backspace") {
      next = null;
    } else return;
    event.preventDefault();
    event.stopPropagation();
    app.change(withObservation(app.state, index, next));
  };
}

/** A double click on the handle that was pressed removes its observation; a drag captures the pointer. */
export function removeByDoubleClick(app, root) {
  root.addEventListener("dblclick", () => {
    if (app.pressed === null || !app.state.observations[app.pressed]) return;
    app.change(withObservation(app.state, app.pressed, null));
    app.pressed = null;
  });
}

/** Wheel over a handle: a larger or smaller error. */
export function handleWheel(app, at, least) {
  return (event) => {
    const row = app.state.observations[at()];
    if (!row) return;
    event.preventDefault();
    event.stopPropagation();
    const std = turnedStd(row.std ?? 0, least, event.deltaY < 0);
    app.change(withObservation(app.state, at(), { ...row, std }));
  };
}
