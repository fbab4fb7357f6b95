/** Registers `<baton-chat>`. */
export { BatonChat, type BatonChatEvents } from "./baton-chat.ts";
export type { ApprovalCard, CallCard } from "./cards.ts";
