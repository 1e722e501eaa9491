// Colours that can be distinguished with any colour vision, on light and dark pages.

/** Okabe and Ito's palette without its yellow, which is too light for lines. */
const SOURCES = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
const SOURCES_DARK = ["#56b4e9", "#ff8c42", "#2fd1a5", "#f0a3cc", "#f5c04a", "#9fd3ff"];

export function isDark() {
  return typeof matchMedia === "function" && matchMedia("(prefers-color-scheme: dark)").matches;
}

export function sourceColour(i, dark = isDark()) {
  const list = dark ? SOURCES_DARK : SOURCES;
  return list[((i % list.length) + list.length) % list.length];
}

/** OKLab (L, a, b) to sRGB bytes. */
export function fromOklab(L, a, b) {
  const l = (L + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (L - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (L - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  return linear.map((x) => {
    const c = Math.min(1, Math.max(0, x));
    const gamma = c <= 0.0031308 ? 12.92 * c : 1.055 * c ** (1 / 2.4) - 0.055;
    return Math.round(255 * gamma);
  });
}

/** Colour of a level 0..1: from dark blue to light yellow, with linearly increasing lightness. */
export function heatColour(level) {
  const t = Math.min(1, Math.max(0, level));
  const turn = Math.sin(Math.PI * t);
  return fromOklab(0.16 + 0.8 * t, 0.05 * turn * (2 * t - 0.9), -0.09 * (1 - t) - 0.03 * turn + 0.15 * t * t);
}

/** RGBA bytes of a picture of levels 0..255; levels up to `floor` have the darkest colour. */
export function paint(levels, floor) {
  const table = Array.from({ length: 256 }, (_, i) => heatColour((i - floor) / (255 - floor)));
  const rgba = new Uint8ClampedArray(4 * levels.length);
  for (let i = 0; i < levels.length; i++) {
    const [r, g, b] = table[levels[i]];
    rgba[4 * i] = r;
    rgba[4 * i + 1] = g;
    rgba[4 * i + 2] = b;
    rgba[4 * i + 3] = 255;
  }
  return rgba;
}

/** A colour of the style sheet. */
export function ink(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
