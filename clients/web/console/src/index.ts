/** Registers `<baton-console>`. */
export { BatonConsole } from "./baton-console.ts";
