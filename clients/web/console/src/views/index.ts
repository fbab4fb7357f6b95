import type { Permission } from "../permissions.ts";
import type { Place } from "../routes.ts";
import type { texts } from "../texts.ts";

/** One kind of page: the element that shows it, and what its reader needs. */
export interface ViewKind {
  readonly element: string;
  /** Null: everybody who is signed in. */
  readonly permission: Permission | null;
  /** The name in the navigation; absent for pages that are reached from others. */
  readonly label?: keyof typeof texts;
  /** The first segment of its path. */
  readonly root: string;
  /** Whether it shows this place, whose first segment is its root. */
  readonly shows: (rest: readonly string[]) => boolean;
  readonly load: () => Promise<unknown>;
}

const alone = (rest: readonly string[]) => rest.length === 0;
const upTo = (most: number) => (rest: readonly string[]) => rest.length <= most;

/** All pages, in the order of the navigation. */
export const VIEWS: readonly ViewKind[] = [
  {
    element: "console-overview",
    permission: "thread:read_all",
    label: "overview",
    root: "",
    shows: alone,
    load: () => import("./overview/overview-view.ts"),
  },
  {
    element: "console-threads",
    permission: "thread:read_all",
    label: "threads",
    root: "threads",
    shows: alone,
    load: () => import("./threads/threads-view.ts"),
  },
  {
    element: "console-timeline",
    permission: "thread:read_all",
    root: "threads",
    shows: (rest) => rest.length === 1,
    load: () => import("./timeline/timeline-view.ts"),
  },
  {
    element: "console-inspector",
    permission: "context:inspect",
    root: "threads",
    shows: (rest) => rest.length === 3 && rest[1] === "turns",
    load: () => import("./inspector/inspector-view.ts"),
  },
  {
    element: "console-compare",
    permission: "thread:read_all",
    root: "compare",
    shows: alone,
    load: () => import("./compare/compare-view.ts"),
  },
  {
    element: "console-desk",
    permission: "desk:answer",
    label: "desk",
    root: "desk",
    shows: upTo(1),
    load: () => import("./desk/desk-view.ts"),
  },
  {
    element: "console-workflows",
    permission: "thread:read_all",
    label: "workflows",
    root: "workflows",
    shows: alone,
    load: () => import("./workflows/workflows-view.ts"),
  },
  {
    element: "console-schedules",
    permission: "schedule:manage",
    label: "schedules",
    root: "schedules",
    shows: alone,
    load: () => import("./schedules/schedules-view.ts"),
  },
  {
    element: "console-audit",
    permission: "audit:read",
    label: "audit",
    root: "audit",
    shows: alone,
    load: () => import("./audit/audit-view.ts"),
  },
  {
    element: "console-agents",
    permission: "agent:write",
    label: "agents",
    root: "agents",
    shows: upTo(1),
    load: () => import("./agents/agents-view.ts"),
  },
  {
    element: "console-evaluations",
    permission: "agent:write",
    label: "evaluations",
    root: "evaluations",
    shows: upTo(1),
    load: () => import("./evaluations/evaluations-view.ts"),
  },
  {
    element: "console-procedures",
    permission: "procedure:approve",
    label: "procedures",
    root: "procedures",
    shows: upTo(2),
    load: () => import("./procedures/procedures-view.ts"),
  },
  {
    element: "console-documents",
    permission: "document:write",
    label: "documents",
    root: "documents",
    shows: upTo(1),
    load: () => import("./documents/documents-view.ts"),
  },
  {
    element: "console-users",
    permission: "user:manage",
    label: "users",
    root: "users",
    shows: upTo(1),
    load: () => import("./users/users-view.ts"),
  },
  {
    element: "console-limits",
    permission: "tenant:manage",
    label: "limits",
    root: "limits",
    shows: alone,
    load: () => import("./limits/limits-view.ts"),
  },
  {
    element: "console-usage",
    permission: "tenant:manage",
    label: "usage",
    root: "usage",
    shows: alone,
    load: () => import("./usage/usage-view.ts"),
  },
  {
    element: "console-webhooks",
    permission: "tenant:manage",
    label: "webhooks",
    root: "webhooks",
    shows: alone,
    load: () => import("./webhooks/webhooks-view.ts"),
  },
];

/** Returns the kind of page at a place; null if there is none. */
export function viewAt(place: Place): ViewKind | null {
  const [root = "", ...rest] = place.path;
  return VIEWS.find((each) => each.root === root && each.shows(rest)) ?? null;
}
