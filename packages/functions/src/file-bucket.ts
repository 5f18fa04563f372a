import { DeleteObjectCommand, GetObjectCommand, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { BodyStorageError } from "@board/core/context/body-storage";
import type { FileStorage } from "@board/core/context/file-storage";
import { awsClientOptions } from "./aws-client.ts";
import type { BodyBucketOptions } from "./body-bucket.ts";

/** A call ends when the bucket sends nothing for this long. A whole file may take longer, because it comes in pieces. */
const LIMITS = { connect_ms: 1_000, request_ms: 10_000, attempts: 2 };
const UPLOAD_SECONDS = 900;
const DOWNLOAD_SECONDS = 300;

/** Stores each file in an object of S3 or a compatible service, and signs addresses for clients. */
export function createFileBucket({ bucket, prefix, endpoint }: BodyBucketOptions): Required<FileStorage> {
  const client = new S3Client({
    ...(endpoint ? { endpoint, forcePathStyle: true } : {}),
    ...awsClientOptions(LIMITS),
  });
  const toObject = (key: string) => ({ Bucket: bucket, Key: prefix + key });
  return {
    // Only small files are sent through the service. Clients upload larger files directly to the bucket.
    write: async (key, chunks) => {
      const pieces: Uint8Array[] = [];
      for await (const chunk of chunks) pieces.push(chunk);
      await withStorageErrors(() => client.send(new PutObjectCommand({ ...toObject(key), Body: Buffer.concat(pieces) })));
    },

    read: (key, range) =>
      withStorageErrors(async () => {
        if (range && range.end <= range.start) return readPieces([]);
        const part = range ? { Range: `bytes=${range.start}-${range.end - 1}` } : {};
        try {
          const { Body } = await client.send(new GetObjectCommand({ ...toObject(key), ...part }));
          return readPieces(Body as AsyncIterable<Uint8Array>);
        } catch (error) {
          if (error instanceof Error && error.name === "NoSuchKey") return null;
          throw error;
        }
      }),

    delete: async (key) => {
      await withStorageErrors(() => client.send(new DeleteObjectCommand(toObject(key))));
    },

    removeUnfinished: async () => {},

    presign: {
      // The bucket refuses any other length or content, because both are signed.
      upload: (key, { size, sha256 }) =>
        withStorageErrors(async () => {
          const checksum = Buffer.from(sha256, "hex").toString("base64");
          const command = new PutObjectCommand({ ...toObject(key), ContentLength: size, ChecksumSHA256: checksum });
          const url = await getSignedUrl(client, command, {
            expiresIn: UPLOAD_SECONDS,
            unhoistableHeaders: new Set(["x-amz-checksum-sha256"]),
            signableHeaders: new Set(["host", "content-length", "x-amz-checksum-sha256"]),
          });
          return { url, headers: { "x-amz-checksum-sha256": checksum } };
        }),

      download: (key, { disposition, content_type }) =>
        withStorageErrors(() =>
          getSignedUrl(
            client,
            new GetObjectCommand({
              ...toObject(key),
              ResponseContentDisposition: disposition,
              ResponseContentType: content_type,
              ResponseCacheControl: "private, no-store",
            }),
            { expiresIn: DOWNLOAD_SECONDS },
          ),
        ),
    },
  };
}

async function* readPieces(body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>) {
  try {
    yield* body;
  } catch (error) {
    throw toStorageError(error);
  }
}

async function withStorageErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toStorageError(error);
  }
}

/** Converts an error of the bucket. Its message may quote the bucket's response, so only its name is kept. */
const toStorageError = (error: unknown): BodyStorageError =>
  new BodyStorageError(`The bucket of files failed: ${error instanceof Error ? error.name : "unknown error"}`);
