import * as z from "zod";
import { wholeNumber } from "./setting-types.ts";

/** Where bodies are stored: a folder, or a bucket with a prefix. The prefix is empty or ends with a slash. */
export type BodyStorageLocation =
  | { kind: "folder"; folder: string }
  | { kind: "bucket"; bucket: string; prefix: string; endpoint: string | null };

export interface BodyStorageSettings {
  place: BodyStorageLocation;
  /** Days after which a body moves to the storage; 0 means that bodies are never moved. */
  days: number;
  /** Smaller bodies stay in the database. */
  min_bytes: number;
}

const BUCKET_URL = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:\/[\w-]+)*)\/?$/;

const place = z
  .string()
  .refine((text) => BUCKET_URL.test(text) || !(/^\w+:\/\//.test(text) || text.includes("\0")), {
    error: "must be a folder or s3://bucket/prefix",
  })
  .transform((text): BodyStorageLocation => {
    const [, bucket, path = ""] = BUCKET_URL.exec(text) ?? [];
    if (bucket === undefined) return { kind: "folder", folder: text };
    return { kind: "bucket", bucket, prefix: path === "" ? "" : `${path.slice(1)}/`, endpoint: null };
  })
  .meta({ rule: "folder or s3://bucket/prefix" });

/** The settings of the storage for bodies of old webhook payloads. */
export const bodyStorageSettings = {
  WEBHOOK_BODY_STORAGE: place
    .optional()
    .describe(
      "Where bodies of old webhook payloads are kept; when unset, in the database. On Lambda it must be a bucket. AWS_ENDPOINT_URL_S3 names the address of an S3-compatible service.",
    ),
  WEBHOOK_BODY_DAYS: wholeNumber(30, 36_500).describe(
    "Days after which a body moves to WEBHOOK_BODY_STORAGE; 0 = no further bodies move, and moved ones stay readable.",
  ),
};

type Variables = z.output<z.ZodObject<typeof bodyStorageSettings>>;

/** For a smaller body, a request to the bucket costs more than its space in the database (docs/costs.md#bodies-in-a-bucket). */
const MIN_BYTES_IN_BUCKET = 16_384;

/** Returns the origin at which browsers upload and download files directly; null if they use this service instead. */
export function toFileOrigin(storage: BodyStorageSettings | null, region: string | undefined): string | null {
  if (storage?.place.kind !== "bucket") return null;
  const { bucket, endpoint } = storage.place;
  if (endpoint !== null) return URL.canParse(endpoint) ? new URL(endpoint).origin : null;
  const isRegion = region !== undefined && /^[a-z0-9-]+$/.test(region);
  return isRegion ? `https://${bucket}.s3.${region}.amazonaws.com` : null;
}

/**
 * Reads where bodies are stored. `endpoint` is the address at which all AWS clients of the process reach the S3-compatible
 * storage. It is undefined for S3 itself.
 */
export function toBodyStorage(env: Variables, endpoint: string | undefined): BodyStorageSettings | null {
  const { WEBHOOK_BODY_STORAGE: place, WEBHOOK_BODY_DAYS: days } = env;
  if (place === undefined) return null;
  if (place.kind === "folder") return { place, days, min_bytes: 0 };
  return { place: { ...place, endpoint: endpoint?.trim() || null }, days, min_bytes: MIN_BYTES_IN_BUCKET };
}
