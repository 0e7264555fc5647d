// Stream lines of a vector field on a grid, by bilinear interpolation and midpoint steps.

/** (px, py) -> vector, null outside; values (n, 2) on an n1 x n2 grid, the first axis fastest. */
export function fieldOn(xs, ys, values) {
  const index = (axis, value) => ((value - axis[0]) / (axis[axis.length - 1] - axis[0])) * (axis.length - 1);
  return (x, y) => {
    const [i, j] = [index(xs, x), index(ys, y)];
    if (!(i >= 0 && j >= 0 && i <= xs.length - 1 && j <= ys.length - 1)) return null;
    const [i0, j0] = [Math.min(Math.floor(i), xs.length - 2), Math.min(Math.floor(j), ys.length - 2)];
    const [a, b] = [i - i0, j - j0];
    const at = (p, q) => values[(j0 + q) * xs.length + i0 + p];
    return [0, 1].map(
      (k) => (1 - a) * (1 - b) * at(0, 0)[k] + a * (1 - b) * at(1, 0)[k] + (1 - a) * b * at(0, 1)[k] + a * b * at(1, 1)[k],
    );
  };
}

/** Lines along a field from evenly spread seeds, each a list of points. */
export function streamLines(xs, ys, values, seedsPerSide = 9, steps = 60) {
  const field = fieldOn(xs, ys, values);
  const [width, height] = [xs[xs.length - 1] - xs[0], ys[ys.length - 1] - ys[0]];
  const size = Math.max(...values.map(([u, v]) => Math.hypot(u, v)), 1e-12);
  const step = (0.008 * Math.hypot(width, height)) / size;
  const lines = [];
  for (let i = 0; i < seedsPerSide; i += 1) {
    for (let j = 0; j < seedsPerSide; j += 1) {
      const start = [xs[0] + ((i + 0.5) / seedsPerSide) * width, ys[0] + ((j + 0.5) / seedsPerSide) * height];
      const line = trace(field, start, step, steps);
      if (line.length > 3) lines.push(line);
    }
  }
  return lines;
}

function trace(field, start, step, steps) {
  const line = [start];
  for (let k = 0; k < steps; k += 1) {
    const [x, y] = line[line.length - 1];
    const first = field(x, y);
    const middle = first && field(x + (step / 2) * first[0], y + (step / 2) * first[1]);
    if (!middle) break;
    line.push([x + step * middle[0], y + step * middle[1]]);
  }
  return line;
}
