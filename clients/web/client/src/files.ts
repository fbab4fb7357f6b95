import type { Api } from "./api.ts";
import type { Content, FilePart, Part } from "./wire.ts";

const INLINE_BYTES = 12_000; // as base64 still well under a frame
export const LARGEST_FILE_BYTES = 20 * 1024 * 1024;
const TYPES: Readonly<Record<string, string>> = {
  md: "text/markdown",
  csv: "text/csv",
  json: "application/json",
  txt: "text/plain",
  pdf: "application/pdf",
};

export function contentTypeOf(file: File): string {
  const known = TYPES[file.name.split(".").pop()?.toLowerCase() ?? ""];
  return (file.type || known || "application/octet-stream").split(";")[0] as string;
}

/** The content of a message with files: small ones travel inside it, others are uploaded first. */
export async function contentOf(
  api: Api,
  threadId: string,
  text: string,
  files: readonly File[],
  signal?: AbortSignal,
): Promise<Content> {
  if (files.length === 0) return text;
  const parts: Part[] = text ? [{ type: "text", text }] : [];
  let room = INLINE_BYTES;
  for (const file of files) {
    const isInline = file.size <= room && file.size > 0;
    if (isInline) room -= file.size;
    const contentType = contentTypeOf(file);
    parts.push(
      isInline ? await inlined(file) : await api.upload(threadId, file, { contentType, ...(signal && { signal }) }),
    );
  }
  return parts;
}

async function inlined(file: File): Promise<FilePart> {
  const mimeType = contentTypeOf(file);
  const bytes = new Uint8Array(await file.arrayBuffer());
  const value = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  const type = mimeType.startsWith("image/") ? "image" : "document";
  return { type, source: { type: "data", value, mimeType }, metadata: { name: file.name } };
}
