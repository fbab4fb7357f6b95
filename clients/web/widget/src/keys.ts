/** `keyCode` of a key that an input method has taken: Safari ends the composition before it fires `keydown`. */
const TAKEN_BY_INPUT_METHOD = 229;

/**
 * Whether the key belongs to an input method: it chooses or drops a candidate, and is no command to the page. Safari
 * needs the second check (WebKit bug 165004).
 */
export const isComposing = (event: KeyboardEvent): boolean =>
  event.isComposing || event.keyCode === TAKEN_BY_INPUT_METHOD;
