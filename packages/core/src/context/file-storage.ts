/** The bytes from `start` up to and without `end`. */
export interface ByteRange {
  start: number;
  end: number;
}

/** What the client of an upload sends, as the service checks it. */
export interface UploadPlan {
  size: number;
  sha256: string;
}

/** An address that needs no credentials and works for a limited time. */
export interface PresignedUpload {
  url: string;
  /** Headers that the upload must have. */
  headers: Record<string, string>;
}

/**
 * Storage for files outside the database, read and written in pieces. Every method throws a `BodyStorageError` when the storage
 * fails. Keys are those of `toBodyKey`, so that no text of a client becomes a path.
 */
export interface FileStorage {
  /** Stores an object completely or not at all: if `chunks` throws, it throws the same, and an earlier object stays. */
  write(key: string, chunks: AsyncIterable<Uint8Array>, size: number): Promise<void>;
  /** The bytes of an object, or of a part of it; null if it does not exist. */
  read(key: string, range?: ByteRange): Promise<AsyncIterable<Uint8Array> | null>;
  /** Deletes an object. Does nothing if it does not exist. */
  delete(key: string): Promise<void>;
  /** Set if clients send and get files without the service in between. */
  presign?: {
    upload(key: string, plan: UploadPlan): Promise<PresignedUpload>;
    download(key: string, file: { disposition: string; content_type: string }): Promise<string>;
  };
}

/** A storage that opens at the first call, because loading its client library takes time. */
export function createLazyFileStorage(open: () => Promise<Required<FileStorage>>): Required<FileStorage> {
  let opened: Promise<Required<FileStorage>> | undefined;
  const opening = () => (opened ??= open());
  return {
    write: async (...call) => (await opening()).write(...call),
    read: async (...call) => (await opening()).read(...call),
    delete: async (...call) => (await opening()).delete(...call),
    presign: {
      upload: async (...call) => (await opening()).presign.upload(...call),
      download: async (...call) => (await opening()).presign.download(...call),
    },
  };
}
