import { ExpectedFailure } from "../values/errors.ts";
import { openOnce } from "../values/open-once.ts";

/**
 * Storage for bodies of old webhook payloads outside the database. Every method throws a `BodyStorageError` when the storage
 * fails. A key consists only of ids, so that no text that a sender chose can become part of a path.
 */
export interface BodyStorage {
  /** Stores an object completely or not at all. Replaces an existing object with the same key. */
  put(key: string, body: Uint8Array): Promise<void>;
  /** Returns an object, or its first `max_bytes`; null if it does not exist. */
  get(key: string, max_bytes?: number): Promise<Uint8Array | null>;
  /** Deletes an object. Does nothing if it does not exist. */
  delete(key: string): Promise<void>;
}

/** The body storage is unreachable, refused a request, or has lost an object. A retry may succeed. */
export class BodyStorageError extends ExpectedFailure {
  override name = "BodyStorageError";
  override get is_transient(): boolean {
    return true;
  }
}

const KEY = /^[0-9a-f-]{36}\/[0-9a-f]{2}\/[0-9a-f-]{36}$/;

/** Returns the key of a payload's body. The part between the ids keeps the folders small if an organization has many payloads. */
export function toBodyKey({ organization_id, payload_id }: { organization_id: string; payload_id: string }): string {
  const key = `${organization_id}/${payload_id.slice(0, 2)}/${payload_id}`;
  if (!KEY.test(key)) throw new Error("A body needs the ids of an organization and a payload");
  return key;
}

/** Creates a storage that opens at the first call, because loading its client library takes time. */
export function createLazyBodyStorage(open: () => Promise<BodyStorage>): BodyStorage {
  const opening = openOnce(open);
  return {
    put: async (...call) => (await opening()).put(...call),
    get: async (...call) => (await opening()).get(...call),
    delete: async (...call) => (await opening()).delete(...call),
  };
}
