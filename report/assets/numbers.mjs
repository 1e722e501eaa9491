// Formats numbers: ticks of axes, times, tables as CSV, orders of rows.

/** About `count` round values between low and high. */
export function ticks(low, high, count) {
  if (!(high > low) || !(count >= 1)) return [low];
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((s) => s * power >= rough * 0.999);
  const out = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) out.push(i * step || 0); // not -0
  return out;
}

/** Few digits, no trailing zeros. */
export function short(x, digits = 4) {
  if (x === null || x === undefined || !Number.isFinite(x)) return "none";
  const size = Math.abs(x);
  if (size > 0 && (size < 1e-3 || size >= 1e7)) return String(Number(x.toPrecision(digits)).toExponential()).replace("e+", "e");
  return String(Number(x.toPrecision(digits)));
}

/** 75.3 as 1:15.3 */
export function clockTime(seconds) {
  const tenths = Math.round(Math.max(0, seconds) * 10);
  const rest = tenths % 600;
  return `${Math.floor(tenths / 600)}:${rest < 100 ? "0" : ""}${(rest / 10).toFixed(1)}`;
}

/** Indices that sort the values, ascending or descending; values that are not numbers come last. */
export function orderBy(values, descending = false) {
  const sign = descending ? -1 : 1;
  return Array.from(values, (_, i) => i).sort((a, b) => {
    const x = values[a];
    const y = values[b];
    if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y) || a - b;
    return x === y ? a - b : (x < y ? -1 : 1) * sign;
  });
}

/** A table as CSV; texts are quoted, and spreadsheets do not interpret them as formulas. */
export function toCsv(header, rows) {
  const cell = (x) => {
    if (typeof x === "number") return Number.isFinite(x) ? String(x) : "";
    const text = /^[=+\-@\t\r]/.test(x) ? `'${x}` : x;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [header, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}
