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
    const part = isInline
      ? await inlined(file)
      : await api.upload(threadId, file, { contentType, ...(signal && { signal }) });
    if (!isInline && part.type === "image") remember(part, file);
    parts.push(part);
  }
  return parts;
}

/** Pictures that were uploaded from this page, by their ids: the server tells their addresses to those who read later. */
const previews = new Map<string, string>();
const MOST_PREVIEWS = 50;

/** The address of a picture that was uploaded from this page; undefined for others. */
export function previewOf({ source }: FilePart): string | undefined {
  return source?.type === "file" ? previews.get(source.value) : undefined;
}

/** Forgets them: another person may use the page now. */
export function forgetPreviews(): void {
  for (const address of previews.values()) URL.revokeObjectURL(address);
  previews.clear();
}

function remember({ source }: FilePart, file: File): void {
  const [oldest] = previews.keys();
  if (source?.type !== "file") return;
  if (oldest !== undefined && previews.size >= MOST_PREVIEWS) {
    URL.revokeObjectURL(previews.get(oldest) ?? "");
    previews.delete(oldest);
  }
  previews.set(source.value, URL.createObjectURL(file));
}

async function inlined(file: File): Promise<FilePart> {
  const mimeType = contentTypeOf(file);
  const bytes = new Uint8Array(await file.arrayBuffer());
  const value = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  const type = mimeType.startsWith("image/") ? "image" : "document";
  return { type, source: { type: "data", value, mimeType }, metadata: { name: file.name } };
}
