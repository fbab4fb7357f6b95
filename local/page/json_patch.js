// JSON Patch (RFC 6902), as STATE_DELTA and ACTIVITY_DELTA carry it.

/** `document` after all `operations`, or unchanged if one of them cannot be applied. */
export function patched(document, operations) {
  const root = { document: structuredClone(document) };
  try {
    for (const operation of operations) apply(root, operation);
  } catch (problem) {
    if (problem instanceof RangeError) return document;
    throw problem;
  }
  return root.document;
}

function apply(root, { op, path, from, value }) {
  const [parent, key] = place(root, path);
  if (op === "add") put(parent, key, value);
  else if (op === "remove") take(parent, key);
  else if (op === "replace") {
    at(parent, key);
    parent[key] = value;
  } else if (op === "copy") put(parent, key, structuredClone(at(...place(root, from))));
  else if (op === "move") put(parent, key, take(...place(root, from)));
  else if (op === "test" && JSON.stringify(at(parent, key)) !== JSON.stringify(value)) throw new RangeError(path);
}

/** The object or list that a pointer such as `/workflow/step` leads into, and the last step. */
function place(root, pointer) {
  const steps = ["document", ...pointer.split("/").slice(1).map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"))];
  const last = steps.pop();
  return [steps.reduce(at, root), last];
}

function at(parent, key) {
  if (parent === null || typeof parent !== "object" || !Object.hasOwn(parent, key)) throw new RangeError(key);
  return parent[key];
}

function put(parent, key, value) {
  if (parent === null || typeof parent !== "object") throw new RangeError(key);
  if (Array.isArray(parent)) parent.splice(key === "-" ? parent.length : Number(key), 0, value);
  else parent[key] = value;
}

function take(parent, key) {
  const value = at(parent, key);
  if (Array.isArray(parent)) parent.splice(Number(key), 1);
  else delete parent[key];
  return value;
}
