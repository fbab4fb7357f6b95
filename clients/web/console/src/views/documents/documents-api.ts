import type { ConsoleApi, Page } from "../../api/console-api.ts";

export interface Document {
  readonly id: string;
  readonly title: string;
  readonly name: string;
  readonly contentType: string;
  readonly size: number;
  readonly version: number;
  readonly status: "waiting" | "processing" | "ready" | "failed";
  readonly progress: number;
  readonly step: string | null;
  readonly pages: number | null;
  readonly chunks: number | null;
  readonly pageErrors: readonly { readonly page: number; readonly message: string }[];
  readonly pageErrorCount: number;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly activeVersion: number | null;
  readonly url: string | null;
  readonly requiredPermission: string | null;
  readonly sourceId: string | null;
  readonly createdBy: string;
}

export interface UploadTarget {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface DocumentRequest {
  readonly name: string;
  readonly contentType: string;
  readonly size: number;
  readonly sha256: string;
  readonly documentId?: string;
  readonly requiredPermission?: string;
}

export type SourceKind = "urls" | "sitemap" | "s3";

export interface Source {
  readonly id: string;
  readonly kind: SourceKind;
  readonly title: string;
  readonly urls: readonly string[];
  readonly url: string | null;
  readonly prefix: string | null;
  readonly requiredPermission: string | null;
  readonly status: string;
  readonly documents: number;
  readonly counts: {
    readonly changed: number;
    readonly unchanged: number;
    readonly deleted: number;
    readonly failed: number;
  };
  readonly errors: readonly { readonly url: string; readonly message: string }[];
  readonly error: string | null;
  readonly refreshedAt: string | null;
  readonly nextRefreshAt: string | null;
}

export interface FoundItem {
  readonly id: string;
  readonly text: string;
  readonly score: number;
  readonly signals: Readonly<Record<string, number>>;
  readonly included: boolean;
  readonly reason: string | null;
  readonly source: {
    readonly title: string;
    readonly library: string | null;
    readonly section: string | null;
    readonly page: number | null;
    readonly lastPage: number | null;
    readonly version: number;
  };
}

/** Documents, and the used part of their room in the search index in per cent; null: there is no bound. */
export interface DocumentPage extends Page<Document> {
  readonly indexFillPercent: number | null;
}

export interface Library {
  readonly name: string;
  readonly documents: number;
  readonly indexFillPercent: number | null;
}

const documents = (agentId: string): readonly string[] => ["agents", agentId, "documents"];
const sources = (agentId: string): readonly string[] => ["agents", agentId, "sources"];

export const listDocuments = (api: ConsoleApi, agentId: string, cursor: string | null, signal: AbortSignal) =>
  api.get<DocumentPage>(documents(agentId), { cursor }, signal);

export const listLibraries = (api: ConsoleApi, agentId: string, signal: AbortSignal) =>
  api.page<Library>(["agents", agentId, "libraries"], {}, signal);

export const listLibraryDocuments = (
  api: ConsoleApi,
  agentId: string,
  library: string,
  cursor: string | null,
  signal: AbortSignal,
) => api.page<Document>(["agents", agentId, "libraries", library, "documents"], { cursor }, signal);

export const readDocument = (api: ConsoleApi, agentId: string, id: string, signal: AbortSignal) =>
  api.get<Document>([...documents(agentId), id], {}, signal);

export async function announce(
  api: ConsoleApi,
  agentId: string,
  body: DocumentRequest,
  signal: AbortSignal,
): Promise<{ readonly document: Document; readonly upload: UploadTarget | null }> {
  const options = { method: "POST", body, signal } as const;
  return (await api.request<{ document: Document; upload: UploadTarget | null }>(documents(agentId), options)).value;
}

export const deleteDocument = (api: ConsoleApi, agentId: string, id: string): Promise<unknown> =>
  api.send([...documents(agentId), id], { method: "DELETE" });

export const listSources = (
  api: ConsoleApi,
  agentId: string,
  cursor: string | null,
  signal: AbortSignal,
): Promise<Page<Source>> => api.page<Source>(sources(agentId), { cursor }, signal);

export const addSource = (api: ConsoleApi, agentId: string, body: object): Promise<unknown> =>
  api.request(sources(agentId), { method: "POST", body });

export const refreshSource = (api: ConsoleApi, agentId: string, id: string): Promise<unknown> =>
  api.request([...sources(agentId), id, "refresh"], { method: "POST", body: {} });

export const deleteSource = (api: ConsoleApi, agentId: string, id: string): Promise<unknown> =>
  api.send([...sources(agentId), id], { method: "DELETE" });

export async function search(
  api: ConsoleApi,
  agentId: string,
  query: string,
  signal: AbortSignal,
): Promise<{ readonly items: readonly FoundItem[]; readonly note: string | null }> {
  const path = ["agents", agentId, "knowledge", "search"];
  const options = { method: "POST", body: { query, limit: 10 }, signal } as const;
  return (await api.request<{ items: FoundItem[]; note: string | null }>(path, options)).value;
}
