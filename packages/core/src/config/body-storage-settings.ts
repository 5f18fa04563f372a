import * as z from "zod";
import { httpUrl, wholeNumber } from "./setting-types.ts";

/** Where bodies are kept: a folder, or a bucket with a prefix. The prefix is empty or ends with a slash. */
export type BodyPlace =
  | { kind: "folder"; folder: string }
  | { kind: "bucket"; bucket: string; prefix: string; endpoint: string | null };

export interface BodyStorageSettings {
  place: BodyPlace;
  /** Days after which a body moves to the storage; 0 moves none. */
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
  .transform((text): BodyPlace => {
    const [, bucket, path = ""] = BUCKET_URL.exec(text) ?? [];
    if (bucket === undefined) return { kind: "folder", folder: text };
    return { kind: "bucket", bucket, prefix: path === "" ? "" : `${path.slice(1)}/`, endpoint: null };
  })
  .meta({ rule: "folder or s3://bucket/prefix" });

/** The settings of the storage for bodies of old webhook payloads. */
export const bodyStorageSettings = {
  WEBHOOK_BODY_STORAGE: place
    .optional()
    .describe("Where bodies of old webhook payloads are kept; when unset, in the database. A bucket on Lambda."),
  WEBHOOK_BODY_STORAGE_ENDPOINT: httpUrl.optional().describe("URL of an S3-compatible service; S3 itself when unset."),
  WEBHOOK_BODY_DAYS: wholeNumber(30, 36_500).describe(
    "Days after which a body moves to WEBHOOK_BODY_STORAGE; 0 = no more move, and those that have moved stay readable.",
  ),
  WEBHOOK_BODY_MIN_BYTES: wholeNumber(0, 100_000_000).describe("Smaller bodies stay in the database."),
};

type Variables = z.output<z.ZodObject<typeof bodyStorageSettings>>;

export function toBodyStorage(env: Variables): BodyStorageSettings | null {
  const { WEBHOOK_BODY_STORAGE: found, WEBHOOK_BODY_STORAGE_ENDPOINT: endpoint = null } = env;
  if (found === undefined) return null;
  const place = found.kind === "bucket" ? { ...found, endpoint } : found;
  return { place, days: env.WEBHOOK_BODY_DAYS, min_bytes: env.WEBHOOK_BODY_MIN_BYTES };
}
