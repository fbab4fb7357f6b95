// Attachments: small ones travel inside the message, larger ones are uploaded first.

const INLINE_BYTES = 14_000; // as base64 still well under a frame's 28 KB
const TYPES = { md: "text/markdown", csv: "text/csv", json: "application/json", txt: "text/plain", pdf: "application/pdf" };

/** The content of a message: plain text, or parts when files are attached. */
export async function contentOf(text, files, upload) {
  if (!files.length) return text;
  const parts = text ? [{ type: "text", text }] : [];
  let room = INLINE_BYTES;
  for (const file of files) {
    const inline = file.size <= room;
    if (inline) room -= file.size;
    parts.push(inline ? await inlined(file) : await upload(file, typeOf(file)));
  }
  return parts;
}

/** Asks for an address with `api`, puts the file there, and returns the part that refers to it. */
export async function uploadTo(api, threadId, file, contentType) {
  const request = { name: file.name, contentType, size: file.size };
  const { upload, part } = await api("POST", `/v1/threads/${threadId}/files`, request);
  const headers = Object.entries(upload.headers).filter(([name]) => name.toLowerCase() !== "content-length");
  const done = await fetch(upload.url, { method: upload.method, headers, body: file });
  if (!done.ok) throw new Error(`${file.name} could not be uploaded.`);
  return part;
}

async function inlined(file) {
  const mimeType = typeOf(file);
  const bytes = new Uint8Array(await file.arrayBuffer());
  const value = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  const type = mimeType.startsWith("image/") ? "image" : "document";
  return { type, source: { type: "data", value, mimeType }, metadata: { name: file.name } };
}

function typeOf(file) {
  const known = TYPES[file.name.split(".").pop().toLowerCase()];
  return (file.type || known || "application/octet-stream").split(";")[0];
}
