import { TEST_KEYS } from "../world.ts";
import { SECRET_MARK } from "./words.ts";

/** Of every gateway that a test's organization begins with. */
export const HOST_TOKEN = "test-token-123";

/** What must be in no answer and in no line of the log, however it got there. */
const NEVER = [
  ...Object.values(TEST_KEYS),
  HOST_TOKEN,
  "pbkdf2_sha256$",
  "agent_token_hash",
  "agent_token_lookup",
  "_sealed",
  "token_digest",
  "-----BEGIN",
];

/** What must be in no answer: how the service is made. */
const INSIDES = [
  /\bat [^\n]*\.[jt]s:\d+/,
  /node_modules|file:\/\/\//,
  /drizzle|pglite|Failed query/i,
  /\b(?:insert into|delete from|update) "/i,
  /\bselect "[^\n]* from "/i,
  /\bZodError|TypeError|RangeError|SyntaxError\b/,
];

/** Runs of characters that tokens, digests and keys are made of. */
const RUNS = /[A-Za-z0-9_-]{40,}/g;

export interface Secrets {
  /** From now on this text is a secret. */
  keep(secret: string): void;
  /** The secret that a text gives away; null for none. */
  leakIn(text: string): string | null;
  /** What a text tells of the service's insides. */
  insideIn(text: string): string | null;
}

export function createSecrets(): Secrets {
  const known = new Set<string>();
  return {
    keep(secret) {
      known.add(secret);
      // The last part of a signed token is as good as the whole.
      if (secret.includes(".")) known.add(secret.slice(secret.lastIndexOf(".") + 1));
    },
    leakIn(text) {
      const fixed = NEVER.find((one) => text.includes(one));
      if (fixed !== undefined) return fixed;
      if (text.includes(SECRET_MARK)) return text.slice(text.indexOf(SECRET_MARK)).slice(0, SECRET_MARK.length + 16);
      for (const [run] of text.matchAll(RUNS)) if (known.has(run)) return run;
      return null;
    },
    insideIn: (text) => INSIDES.map((pattern) => pattern.exec(text)?.[0]).find((found) => found !== undefined) ?? null,
  };
}
