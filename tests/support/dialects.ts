import { type DialectName, dialects } from "@board/local/fake-gateway/dialect";

/** The releases that a host on loopback can be of, oldest first. */
export const DIALECTS = Object.keys(dialects) as DialectName[];
