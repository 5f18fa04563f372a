import { BodyStorageError, toBodyKey } from "../context/body-storage.ts";
import type { Context } from "../context/context.ts";
import type { FileStorage } from "../context/file-storage.ts";
import { DomainError } from "../values/errors.ts";

/** Returns the key of an artifact's object in the file storage. */
export const fileKeyOf = ({ organization_id, id }: { organization_id: string; id: string }): string =>
  toBodyKey({ organization_id, payload_id: id });

/** The wait before a retry, in seconds. Storage services are rarely unavailable for longer. */
const RETRY_AFTER = 30;

/** Uses the file storage for a request. If the storage fails, the error tells the client to try again. */
export async function withFiles<T>(ctx: Context, work: (files: FileStorage) => Promise<T>): Promise<T> {
  try {
    if (!ctx.files) throw new BodyStorageError("Files have been stored, but no storage is configured");
    return await work(ctx.files);
  } catch (error) {
    if (!(error instanceof BodyStorageError)) throw error;
    ctx.log.warn("artifact.storage_failed", error.message);
    throw new DomainError("body_storage_unavailable", "The storage of files does not answer. Try again later.", {
      retry_after_seconds: RETRY_AFTER,
    });
  }
}
