import type { PatchOperation } from "./wire.ts";

/** JSON Patch (RFC 6902): `document` after all operations, or unchanged if one of them cannot be applied. */
export function patched<T>(document: T, operations: readonly PatchOperation[]): T {
  const root: Container = { document: structuredClone(document) };
  try {
    for (const operation of operations) apply(root, operation);
  } catch (problem) {
    if (problem instanceof RangeError) return document;
    throw problem;
  }
  return root.document as T;
}

type Container = Record<string, unknown>;

function apply(root: Container, { op, path, from = "", value }: PatchOperation): void {
  const [parent, key] = place(root, path);
  if (op === "add") put(parent, key, value);
  else if (op === "remove") take(parent, key);
  else if (op === "replace") {
    at(parent, key);
    (parent as Container)[key] = value;
  } else if (op === "copy") put(parent, key, structuredClone(at(...place(root, from))));
  else if (op === "move") put(parent, key, take(...place(root, from)));
  else if (op === "test" && JSON.stringify(at(parent, key)) !== JSON.stringify(value)) throw new RangeError(path);
}

/** The object or list that a pointer such as `/workflow/step` leads into, and the last step. */
function place(root: Container, pointer: string): [unknown, string] {
  const steps = pointer
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
  const last = steps.length ? (steps.pop() as string) : "document";
  const start = pointer === "" ? root : root.document;
  return [steps.reduce<unknown>(at, start), last];
}

function at(parent: unknown, key: string): unknown {
  if (parent === null || typeof parent !== "object" || !Object.hasOwn(parent, key)) throw new RangeError(key);
  return (parent as Container)[key];
}

function put(parent: unknown, key: string, value: unknown): void {
  if (parent === null || typeof parent !== "object" || key === "__proto__") throw new RangeError(key);
  if (Array.isArray(parent)) parent.splice(key === "-" ? parent.length : Number(key), 0, value);
  else (parent as Container)[key] = value;
}

function take(parent: unknown, key: string): unknown {
  const value = at(parent, key);
  if (Array.isArray(parent)) parent.splice(Number(key), 1);
  else delete (parent as Container)[key];
  return value;
}
