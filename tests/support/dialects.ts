import { type DialectName, dialects } from "./fake-gateway/dialect.ts";

/** The OpenClaw releases that a fake host can imitate, oldest first. */
export const DIALECTS = Object.keys(dialects) as DialectName[];
