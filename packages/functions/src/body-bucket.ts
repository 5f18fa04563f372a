import { DeleteObjectCommand, GetObjectCommand, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { type BodyStorage, BodyStorageError } from "@board/core/context/body-storage";
import { rejectAfter } from "@board/core/values/timeout";
import { awsClientOptions } from "./aws-client.ts";

/** The limits are short, because a request waits for a read, and API Gateway answers 503 after 30 s. */
const LIMITS = { connect_ms: 1_000, request_ms: 3_000, attempts: 2 };
/** Limit for a call including the bytes of the body, for which the client has no limit. */
const TOTAL_MS = 10_000;

export interface BodyBucketOptions {
  bucket: string;
  /** Prefix of every key. It is empty or ends with a slash. */
  prefix: string;
  /** Address of a compatible service. Null means S3 in the region of the environment. */
  endpoint: string | null;
}

/** Keeps each body in an object of S3 or a compatible service. */
export function createBodyBucket({ bucket, prefix, endpoint }: BodyBucketOptions): BodyStorage {
  const client = new S3Client({
    // Compatible services rarely provide a host name per bucket, so the bucket is in the path.
    ...(endpoint ? { endpoint, forcePathStyle: true } : {}),
    ...awsClientOptions(LIMITS),
  });
  const toObject = (key: string) => ({ Bucket: bucket, Key: prefix + key });
  return {
    put: (key, body) =>
      withStorageErrors(async () => {
        await client.send(new PutObjectCommand({ ...toObject(key), Body: body, ContentType: "application/octet-stream" }));
      }),

    get: (key, max_bytes) =>
      withStorageErrors(async () => {
        const range = max_bytes === undefined ? {} : { Range: `bytes=0-${max_bytes - 1}` };
        try {
          const { Body } = await client.send(new GetObjectCommand({ ...toObject(key), ...range }));
          // A compatible service may ignore the range.
          return (await Body!.transformToByteArray()).subarray(0, max_bytes);
        } catch (error) {
          if (error instanceof Error && error.name === "NoSuchKey") return null;
          throw error;
        }
      }),

    delete: (key) =>
      withStorageErrors(async () => {
        await client.send(new DeleteObjectCommand(toObject(key)));
      }),
  };
}

async function withStorageErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await rejectAfter(work(), TOTAL_MS, () => new BodyStorageError("The bucket of bodies did not answer in time"));
  } catch (error) {
    if (error instanceof BodyStorageError) throw error;
    // The message may quote the service's response, so only the name of the error is kept.
    throw new BodyStorageError(`The bucket of bodies failed: ${error instanceof Error ? error.name : "unknown error"}`);
  }
}
