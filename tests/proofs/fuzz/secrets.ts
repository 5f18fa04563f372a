import { TEST_KEYS } from "../../support/world.ts";
import { SECRET_MARK } from "./field-values.ts";

/** The token of the gateways that a test creates before it sends generated requests. */
export const HOST_TOKEN = "test-token-123";

/** Texts that no answer and no log line may contain. */
const FORBIDDEN = [
  ...Object.values(TEST_KEYS),
  HOST_TOKEN,
  "pbkdf2_sha256$",
  "agent_token_hash",
  "agent_token_lookup",
  "_sealed",
  "token_digest",
  "-----BEGIN",
];

/** Internals of the service that no answer may contain. */
const INTERNALS = [
  /\bat [^\n]*\.[jt]s:\d+/,
  /node_modules|file:\/\/\//,
  /drizzle|pglite|Failed query/i,
  /\b(?:insert into|delete from|update) "/i,
  /\bselect "[^\n]* from "/i,
  /\bZodError|TypeError|RangeError|SyntaxError\b/,
];

/** Sequences of characters that may be tokens, digests or keys. */
const TOKEN_LIKE = /[A-Za-z0-9_-]{40,}/g;

export interface Secrets {
  /** Adds a secret. */
  keep(secret: string): void;
  /** Returns the secret in a text, or null. */
  findSecret(text: string): string | null;
  /** Returns the internals of the service in a text, or null. */
  findInternals(text: string): string | null;
}

export function createSecrets(): Secrets {
  const known = new Set<string>();
  return {
    keep(secret) {
      known.add(secret);
      // The signature of a token is as sensitive as the whole token.
      if (secret.includes(".")) known.add(secret.slice(secret.lastIndexOf(".") + 1));
    },
    findSecret(text) {
      const fixed = FORBIDDEN.find((secret) => text.includes(secret));
      if (fixed !== undefined) return fixed;
      if (text.includes(SECRET_MARK)) return text.slice(text.indexOf(SECRET_MARK)).slice(0, SECRET_MARK.length + 16);
      for (const [run] of text.matchAll(TOKEN_LIKE)) if (known.has(run)) return run;
      return null;
    },
    findInternals: (text) => INTERNALS.map((pattern) => pattern.exec(text)?.[0]).find((found) => found !== undefined) ?? null,
  };
}
