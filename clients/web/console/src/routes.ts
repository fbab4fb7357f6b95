/** Where the console is: a path of segments and parameters, both in the address's hash. */
export interface Place {
  /** Decoded: `["threads", "0f2d…"]`; empty for the overview. */
  readonly path: readonly string[];
  readonly parameters: Readonly<Record<string, string>>;
}

/** Reads a hash as `#/threads/0f2d…?at=call-1`. What cannot be decoded is left out. */
export function placeOf(hash: string): Place {
  const [path = "", query = ""] = hash.replace(/^#/, "").split("?", 2);
  const segments = path
    .split("/")
    .filter(Boolean)
    .map(decoded)
    .filter((each) => each !== null);
  return { path: segments, parameters: Object.fromEntries(new URLSearchParams(query)) };
}

/** The address of a place. Parameters without a value are left out. */
export function hrefOf(
  path: readonly string[],
  parameters: Readonly<Record<string, string | number | null | undefined>> = {},
): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return `#/${path.map(encodeURIComponent).join("/")}${query && `?${query}`}`;
}

function decoded(segment: string): string | null {
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}
