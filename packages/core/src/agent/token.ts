import { createHmac, type KeyObject, pbkdf2, randomBytes, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";

const derive = promisify(pbkdf2);

const TOKEN_BYTES = 32;
const ITERATIONS = 200_000;
const SALT_BYTES = 16;
const HASH_BYTES = 32;
/** Limits the work of checking a token, because an imported hash may ask for any number of iterations. */
const MAX_ITERATIONS = 2_000_000;

/** The prefix of run tokens. No agent token that `mintToken` creates begins with it. */
export const RUN_TOKEN_PREFIX = "run_";

/** Creates an agent token: 32 random bytes as 43 characters of URL-safe Base64. */
export function mintToken(): string {
  const token = randomBytes(TOKEN_BYTES).toString("base64url");
  // One in 16 million random tokens begins like a run token. Such a token would be looked up only among the tokens of runs.
  return token.startsWith(RUN_TOKEN_PREFIX) ? mintToken() : token;
}

/**
 * Returns the digest by which an agent is found from its token. It is keyed with the pepper, so nobody can test a guessed token
 * with the database alone.
 */
export const tokenLookup = (pepper: KeyObject, token: string): string =>
  createHmac("sha256", pepper).update(token).digest("base64url");

/**
 * Returns `pbkdf2_sha256$200000$<salt>$<hash>`, with salt and hash in URL-safe Base64 without padding. Hashing takes about 50 ms
 * in the thread pool.
 */
export async function hashToken(token: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const hash = await derive(token, salt, ITERATIONS, HASH_BYTES, "sha256");
  return `pbkdf2_sha256$${ITERATIONS}$${salt.toString("base64url")}$${hash.toString("base64url")}`;
}

/** Checks whether the stored hash matches the token, in constant time. A malformed hash matches no token. */
export async function verifyToken(token: string, stored: string): Promise<boolean> {
  const match = /^pbkdf2_sha256\$(\d{1,7})\$([A-Za-z0-9_-]+)=*\$([A-Za-z0-9_-]+)=*$/.exec(stored);
  if (!match) return false;
  const [, iterations = "", salt = "", hash = ""] = match;
  const rounds = Number(iterations);
  const expected = Buffer.from(hash, "base64url");
  if (rounds < 1 || rounds > MAX_ITERATIONS || expected.length !== HASH_BYTES) return false;
  const actual = await derive(token, Buffer.from(salt, "base64url"), rounds, HASH_BYTES, "sha256");
  return timingSafeEqual(actual, expected);
}

/** Returns the values to store in an agent's columns for a token. */
export async function toStoredToken(pepper: KeyObject, token: string) {
  return { agent_token_hash: await hashToken(token), agent_token_lookup: tokenLookup(pepper, token) };
}

/** A new token with the values to store. Create it before a transaction, because hashing takes long. */
export interface NewToken {
  auth_token: string;
  stored: Awaited<ReturnType<typeof toStoredToken>>;
}

export async function createToken(pepper: KeyObject): Promise<NewToken> {
  const auth_token = mintToken();
  return { auth_token, stored: await toStoredToken(pepper, auth_token) };
}
