import { type DialectName, dialects } from "@board/local/fake-gateway/dialect";

/** The OpenClaw releases that a fake host can imitate, oldest first. */
export const DIALECTS = Object.keys(dialects) as DialectName[];
