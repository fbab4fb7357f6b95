/** The permissions that views ask for. The server checks them; here they decide what is offered. */
export type Permission =
  | "agent:write"
  | "audit:read"
  | "context:inspect"
  | "desk:answer"
  | "document:write"
  | "pii:read"
  | "procedure:approve"
  | "schedule:manage"
  | "tenant:manage"
  | "thread:read_all"
  | "user:manage";

export const ALL_PERMISSIONS: readonly Permission[] = [
  "agent:write",
  "audit:read",
  "context:inspect",
  "desk:answer",
  "document:write",
  "pii:read",
  "procedure:approve",
  "schedule:manage",
  "tenant:manage",
  "thread:read_all",
  "user:manage",
];
