import type { CallOutcome, CardField, InterruptAnswer, InterruptItem, ToolItem } from "#client";
import type { Piece } from "./ui.ts";

/** A call that waits for the user, for a card of the page's own. */
export interface ApprovalCard {
  readonly id: string;
  /** The question. */
  readonly text: string;
  /** The tool's name for people. */
  readonly label: string;
  readonly toolName: string;
  /** All arguments in words. */
  readonly fields: readonly CardField[];
  /** The arguments as they are; `null` if they are no JSON object, or too long to be sent. */
  readonly arguments: Readonly<Record<string, unknown>> | null;
  readonly expiresAt: string | null;
  /** An element of this slot, inside `<baton-chat>`, stands in the place of the widget's own card. */
  readonly slot: string;
  readonly approve: (comment?: string) => void;
  readonly decline: (comment?: string) => void;
  /** How it was answered, here or elsewhere; `passed`: the conversation went on without an answer. */
  readonly answered: Promise<InterruptAnswer>;
}

/** A call of a tool, for a card of the page's own. */
export interface CallCard {
  readonly id: string;
  readonly label: string;
  readonly toolName: string;
  /** The arguments; `null` while they are written, and if they are no JSON object. */
  readonly arguments: Readonly<Record<string, unknown>> | null;
  /** What came back, for the model; `null` until then. */
  readonly result: string | null;
  readonly outcome: CallOutcome | null;
  readonly isOpen: boolean;
  /** Whether it waits for an approval. */
  readonly isWaiting: boolean;
  /** An element of this slot, inside `<baton-chat>`, stands in the place of the widget's own line. */
  readonly slot: string;
}

/** The widget's element, in whose shadow root a component stands. */
const hostOf = (piece: Piece): Element | null => (piece.getRootNode() as Partial<ShadowRoot>).host ?? null;

/** Whether what models write and read is shown: for developers. */
export const isForDevelopers = (piece: Piece): boolean => hostOf(piece)?.hasAttribute("developer") ?? false;

/** Whether nothing that was said can be answered again or changed: the page wants it so. */
export const isFixed = (piece: Piece): boolean => hostOf(piece)?.hasAttribute("no-branches") ?? false;

/** Whether documents are named that an answer does not cite. */
export const showsConsulted = (piece: Piece): boolean =>
  isForDevelopers(piece) || (hostOf(piece)?.hasAttribute("consulted") ?? false);

/** Tells the page of a card; false if the page shows it elsewhere. */
export function offerCard(
  piece: Piece,
  name: "baton-approval" | "baton-call",
  detail: ApprovalCard | CallCard,
): boolean {
  const event = new CustomEvent(name, { detail, bubbles: true, composed: true, cancelable: true });
  return hostOf(piece)?.dispatchEvent(event) ?? true;
}

/** The fields of a card; `null` where the server sends none. */
export function fieldsOf({ interrupt }: InterruptItem): readonly CardField[] | null {
  const fields = interrupt.metadata?.fields;
  return Array.isArray(fields) ? (fields as readonly CardField[]) : null;
}

export function approvalCard(
  item: InterruptItem,
  answer: (status: "resolved" | "cancelled", payload?: unknown) => void,
  answered: Promise<InterruptAnswer>,
): ApprovalCard {
  const { interrupt, args } = item;
  const toolName = String(interrupt.metadata?.toolName ?? "");
  return {
    id: interrupt.id,
    text: interrupt.message ?? "",
    label: String(interrupt.metadata?.label ?? toolName),
    toolName,
    fields: fieldsOf(item) ?? [],
    arguments: objectOf(args),
    expiresAt: interrupt.expiresAt ?? null,
    slot: `approval-${interrupt.id}`,
    approve: (comment) => answer("resolved", { approved: true, ...(comment && { comment }) }),
    decline: (comment) => (comment ? answer("resolved", { approved: false, comment }) : answer("cancelled")),
    answered,
  };
}

export function callCard({ callId, name = "", label, args, result, outcome, open, waits }: ToolItem): CallCard {
  return {
    id: callId,
    label: label ?? name,
    toolName: name,
    arguments: objectOf(args),
    result: result ?? null,
    outcome: outcome ?? null,
    isOpen: open,
    isWaiting: waits === true && result === undefined,
    slot: `call-${callId}`,
  };
}

function objectOf(text: string | undefined): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text || "{}");
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : null;
  } catch {
    return null;
  }
}
