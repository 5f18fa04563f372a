import type { Participant } from "./demo-log.ts";

/** The names and colors in the second column of the log. */
export const you: Participant = { name: "you", style: "white" };
export const gateway: Participant = { name: "gateway", style: "magenta" };
export const iris: Participant = { name: "Iris", style: "cyan" };
export const milo: Participant = { name: "Milo", style: "green" };
export const juno: Participant = { name: "Juno", style: "greenBright" };
export const rex: Participant = { name: "Rex", style: "redBright" };
export const nova: Participant = { name: "Nova", style: "blueBright" };
export const github: Participant = { name: "GitHub", style: "blue" };
export const monitor: Participant = { name: "monitor", style: "yellow" };
export const customer: Participant = { name: "customer", style: "yellowBright" };
export const stranger: Participant = { name: "stranger", style: "red" };
