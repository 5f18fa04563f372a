import { openOnce } from "../values/open-once.ts";

/** The bytes from `start` up to `end`, not including `end`. */
export interface ByteRange {
  start: number;
  end: number;
}

/** What the client of an upload announced. The service checks the content against these values. */
interface UploadPlan {
  size: number;
  sha256: string;
}

/** An address that needs no credentials and works for a limited time. */
interface PresignedUpload {
  url: string;
  /** Headers that the upload must have. */
  headers: Record<string, string>;
}

/**
 * Storage for files outside the database, read and written in chunks. Every method throws a `BodyStorageError` when the storage
 * fails. A key consists only of ids, so that no text that a client chose can become part of a path.
 */
export interface FileStorage {
  /** Stores an object completely or not at all. If `chunks` throws, it throws the same error and keeps the existing object. */
  write(key: string, chunks: AsyncIterable<Uint8Array>, size: number): Promise<void>;
  /** Returns the bytes of an object, or of a part of it; null if it does not exist. */
  read(key: string, range?: ByteRange): Promise<AsyncIterable<Uint8Array> | null>;
  /** Deletes an object. Does nothing if it does not exist. */
  delete(key: string): Promise<void>;
  /** Removes the remains of writes whose process ended long ago before they were complete. */
  removeUnfinished(): Promise<void>;
  /** Set if clients upload and download files without going through the service. */
  presign?: {
    upload(key: string, plan: UploadPlan): Promise<PresignedUpload>;
    download(key: string, file: { disposition: string; content_type: string }): Promise<string>;
  };
}

/** Creates a storage that is opened at the first call, because loading its client library takes time. */
export function createLazyFileStorage(open: () => Promise<Required<FileStorage>>): Required<FileStorage> {
  const opening = openOnce(open);
  return {
    write: async (...call) => (await opening()).write(...call),
    read: async (...call) => (await opening()).read(...call),
    delete: async (...call) => (await opening()).delete(...call),
    // Only bucket storages are opened lazily. They store an object completely or not at all, so there is nothing to clean up.
    removeUnfinished: async () => {},
    presign: {
      upload: async (...call) => (await opening()).presign.upload(...call),
      download: async (...call) => (await opening()).presign.download(...call),
    },
  };
}
