/** Registers `<baton-chat>`. */
export { BatonChat, type BatonChatEvents } from "./baton-chat.ts";
