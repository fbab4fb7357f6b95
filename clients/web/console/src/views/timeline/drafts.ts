/** Questions that are to be asked again, by the sandbox they are for. Not in addresses: those are kept and passed on. */
const drafts = new Map<string, string>();

export function keepDraft(threadId: string, text: string): void {
  drafts.clear();
  drafts.set(threadId, text);
}

export function draftFor(threadId: string): string {
  return drafts.get(threadId) ?? "";
}
