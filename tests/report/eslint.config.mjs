// Rules for the page's scripts (report/assets) and for their tests.
const browser = ["document", "window", "navigator", "getSelection", "getComputedStyle", "matchMedia", "requestAnimationFrame", "cancelAnimationFrame", "ResizeObserver", "MutationObserver", "IntersectionObserver", "AudioContext", "OfflineAudioContext", "Blob", "URL", "atob", "fetch", "setTimeout", "clearTimeout", "console", "uPlot", "addEventListener", "devicePixelRatio", "ImageData", "Event", "KeyboardEvent", "performance"];
const node = ["process", "Buffer", "console", "setTimeout"];
const named = (names) => Object.fromEntries(names.map((name) => [name, "readonly"]));

const rules = {
  "no-undef": "error",
  "no-unused-vars": "error",
  "no-redeclare": "error",
  "no-shadow": ["error", { allow: ["_"] }],
  "no-var": "error",
  "prefer-const": "error",
  eqeqeq: "error",
  "no-eval": "error",
  "no-implied-eval": "error",
  "no-new-func": "error",
  "no-script-url": "error",
  "no-unreachable": "error",
  "no-fallthrough": "error",
  "no-dupe-keys": "error",
  "no-dupe-else-if": "error",
  "no-duplicate-imports": "error",
  "no-self-compare": "error",
  "no-unsafe-optional-chaining": "error",
  "no-unused-expressions": "error",
  "no-constant-condition": "error",
  "no-implicit-globals": "error",
  "no-loss-of-precision": "error",
  "no-promise-executor-return": "error",
  "array-callback-return": "error",
  "default-case-last": "error",
  "use-isnan": "error",
  "valid-typeof": "error",
  "max-lines-per-function": ["error", 80],
  // text of users must never become markup
  "no-restricted-properties": ["error", ...["innerHTML", "outerHTML", "insertAdjacentHTML", "write"].map((property) => ({ property }))],
};

export default [
  { ignores: ["**/vendor/**", "**/node_modules/**"] },
  { files: ["report/assets/*.mjs"], languageOptions: { ecmaVersion: 2022, globals: named(browser) }, linterOptions: { reportUnusedDisableDirectives: "error" }, rules },
  { files: ["tests/report/**/*.mjs"], languageOptions: { ecmaVersion: 2022, globals: named([...node, ...browser, "axe"]) }, rules: { ...rules, "max-lines-per-function": "off" } },
];
