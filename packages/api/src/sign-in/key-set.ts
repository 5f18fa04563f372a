import type { Log } from "@board/core/values/log";
import { errorText } from "@board/core/values/log";
import { rejectAfter } from "@board/core/values/timeout";
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";

/** The age at which keys are read again. If reading fails, the old keys are still used, because nobody could sign in otherwise. */
const STALE_AFTER_MS = 10 * 60_000;
const UNUSABLE_AFTER_MS = 24 * 60 * 60_000;
/** The minimum age at which an unknown key id causes another read. Anyone can send unknown key ids. */
const MIN_REREAD_AGE_MS = 30_000;
/** The pause after a failed read while a token waits for keys. It is short, because the provider may soon be available again. */
const RETRY_MS = 1_000;
const STALE_RETRY_MS = 30_000;
const READ_TIMEOUT_MS = 5_000;
/**
 * How long a token with a known key waits for newer keys. The wait is needed because a Lambda function is frozen between
 * requests, and so cannot read keys in the background.
 */
const STALE_WAIT_MS = 1_000;
const MAX_BYTES = 1_048_576;

/** Thrown when the keys cannot be read, so that it is not possible to tell whether a token is valid. */
export class KeysUnavailable extends Error {}

interface KeySet {
  find: JWTVerifyGetKey;
  read_at: number;
}

/**
 * Keeps the keys at a URL in memory. All requests share one read at a time, and after a failed read the last keys are still used.
 * The returned function finds the key of a token. It throws `KeysUnavailable` if it needs keys that cannot be read.
 */
export function createKeySet(url: string, log: Log): JWTVerifyGetKey {
  let current: KeySet | null = null;
  let failed_at = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;

  /** Reads the keys, unless a read failed less than `pause_ms` ago. Never throws. */
  function refresh(pause_ms: number): Promise<void> {
    if (!reading && Date.now() - failed_at < pause_ms) return Promise.resolve();
    return (reading ??= readKeySet(url)
      .then(
        (keys) => {
          current = { find: createLocalJWKSet(keys), read_at: Date.now() };
          failed_at = Number.NEGATIVE_INFINITY;
        },
        (error: unknown) => {
          failed_at = Date.now();
          log.error("auth.jwks_unavailable", "The keys of the identity provider cannot be read", { error: errorText(error) });
        },
      )
      .finally(() => (reading = undefined)));
  }

  const usable = () => (current && Date.now() - current.read_at < UNUSABLE_AFTER_MS ? current : null);

  async function getUsable(): Promise<KeySet> {
    const known = usable();
    if (!known) await refresh(RETRY_MS);
    else if (Date.now() - known.read_at >= STALE_AFTER_MS) await atMost(STALE_WAIT_MS, refresh(STALE_RETRY_MS));
    const keys = usable();
    if (!keys) throw new KeysUnavailable();
    return keys;
  }

  return async (header, token) => {
    const keys = await getUsable();
    try {
      return await keys.find(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey) || Date.now() - keys.read_at < MIN_REREAD_AGE_MS) throw error;
    }
    await refresh(RETRY_MS);
    const reread = usable();
    if (!reread || reread === keys) throw new KeysUnavailable();
    return reread.find(header, token);
  };
}

async function readKeySet(url: string): Promise<JSONWebKeySet> {
  // Reads are minutes apart, so the provider may have closed a connection that was kept open.
  const headers = { connection: "close" };
  const answer = await fetch(url, { redirect: "manual", headers, signal: AbortSignal.timeout(READ_TIMEOUT_MS) });
  if (!answer.ok) {
    await answer.body?.cancel();
    throw new Error(`status ${answer.status}`);
  }
  const keys: unknown = JSON.parse(new TextDecoder().decode(await readBytes(answer)));
  if (!isKeySet(keys)) throw new Error("the answer is not a key set");
  return keys;
}

/** Returns whether the value is a set of keys. An empty set counts as a failure, because no token could be checked with it. */
function isKeySet(value: unknown): value is JSONWebKeySet {
  const keys = (value as { keys?: unknown } | null)?.keys;
  return Array.isArray(keys) && keys.length > 0 && keys.every((key) => typeof key === "object" && key !== null);
}

/** Waits at most `ms` milliseconds for work that never fails. */
const atMost = (ms: number, work: Promise<void>): Promise<void> => rejectAfter(work, ms, () => new Error()).catch(() => {});

async function readBytes({ body }: Response): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > MAX_BYTES) throw new Error(`The key set has more than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
