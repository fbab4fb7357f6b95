/** The client of Baton: conversations with agents over WebSocket and HTTP, without anything else than a browser. */

export { Api } from "./api.ts";
export { Chat, type SendOptions } from "./chat.ts";
export { BatonClient, type ClientOptions, type Seen } from "./client.ts";
export type { ConnectionState } from "./connection.ts";
export type { Run } from "./conversation.ts";
export { BatonError, NetworkError, TokenError } from "./errors.ts";
export { contentTypeOf, LARGEST_FILE_BYTES, previewOf } from "./files.ts";
export * from "./items.ts";
export type { ClientCall, ClientTool, ContextItem, ContextSource } from "./offer.ts";
export type { ChatEvents, ChatOptions, ChatSnapshot } from "./snapshot.ts";
export type { KeyValueStore } from "./storage.ts";
export type { Identity, TokenCallback } from "./token.ts";
export type * from "./wire.ts";
