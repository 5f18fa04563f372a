import type { AuditEvent } from "../types.ts";

const GENESIS = new Uint8Array(32);

/** The result of checking the chain of hashes. */
export interface Verified {
  /** Number of entries whose hash is right, up to the first problem. */
  count: number;
  first: AuditEvent | null;
  last: AuditEvent | null;
  /** The first problem; null if there is none. */
  problem: string | null;
}

const fromHex = (hex: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(hex.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));
const toHex = (bytes: Uint8Array): string => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** Computes the SHA-256 of the previous hash and the entry as a JSON array, as docs/reference/audit.md describes. */
async function hashOf(previous: Uint8Array, entry: AuditEvent): Promise<string> {
  const { seq, id, organization_id, at, action, actor, target, changes, address, user_agent, trace_id } = entry;
  const who = [actor.type, actor.id, actor.name];
  const what = [target.type, target.id, target.name];
  const values = [seq, id, organization_id, at, action, who, what, changes, address, user_agent, trace_id];
  const text = new TextEncoder().encode(JSON.stringify(values));
  const bytes = new Uint8Array(previous.length + text.length);
  bytes.set(previous);
  bytes.set(text, previous.length);
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

const REPORT_EVERY = 100;

/**
 * Computes the hashes of all entries in the browser, so that nobody has to trust the service about its own log. If older entries
 * were removed after their retention time, the check begins at the first entry that is left.
 */
export async function verify(entries: AsyncIterable<AuditEvent>, onProgress: (count: number) => void): Promise<Verified> {
  if (!globalThis.crypto?.subtle) throw new Error("The browser computes hashes only at https addresses and on this computer.");
  const result: Verified = { count: 0, first: null, last: null, problem: null };
  for await (const entry of entries) {
    const before = result.last;
    if (before && entry.seq !== before.seq + 1) return { ...result, problem: `Entry ${before.seq + 1} is missing.` };
    const previous = before ? fromHex(before.hash) : entry.seq === 1 ? GENESIS : null;
    if (previous && (await hashOf(previous, entry)) !== entry.hash)
      return { ...result, problem: `Entry ${entry.seq} or the hash before it was changed.` };
    result.first ??= entry;
    result.last = entry;
    result.count += 1;
    if (result.count % REPORT_EVERY === 0) onProgress(result.count);
  }
  return result;
}
