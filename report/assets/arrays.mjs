// Decodes typed arrays from the data of the page.

const TYPES = { f64: Float64Array, f32: Float32Array, i16: Int16Array, i8: Int8Array, u8: Uint8Array };

/** The bytes of a base64 text. */
export function bytesOf(text) {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

/** {type, shape, data} as a typed array with its shape; null if it is missing. */
export function decode(packed) {
  if (!packed) return null;
  const array = new TYPES[packed.type](bytesOf(packed.data).buffer);
  array.shape = packed.shape;
  return array;
}

/** Row i of an array of two dimensions. */
export function rowOf(array, i) {
  const columns = array.shape[1];
  return array.subarray(i * columns, (i + 1) * columns);
}

/** The largest value in each of at most `count` groups of neighbours. */
export function reduceToMax(array, count) {
  if (array.length <= count) return Array.from(array);
  const out = new Array(count).fill(-Infinity);
  for (let i = 0; i < array.length; i++) {
    const at = Math.floor((i * count) / array.length);
    if (array[i] > out[at]) out[at] = array[i];
  }
  return out;
}
