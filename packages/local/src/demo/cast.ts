import type { Who } from "./screen.ts";

/** Everybody who appears in the second column. */
export const you: Who = { name: "you", style: "white" };
export const gateway: Who = { name: "gateway", style: "magenta" };
export const iris: Who = { name: "Iris", style: "cyan" };
export const milo: Who = { name: "Milo", style: "green" };
export const juno: Who = { name: "Juno", style: "greenBright" };
export const github: Who = { name: "GitHub", style: "blue" };
export const monitor: Who = { name: "monitor", style: "yellow" };
export const customer: Who = { name: "customer", style: "yellowBright" };
export const stranger: Who = { name: "stranger", style: "red" };
