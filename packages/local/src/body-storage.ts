import path from "node:path";
import { type BodyStorage, createLazyBodyStorage } from "@board/core/context/body-storage";
import type { Settings } from "@board/core/config/settings";
import { createBodyFolder } from "./body-folder.ts";

/** Opens the storage that WEBHOOK_BODY_STORAGE names, or returns null when bodies stay in the database. */
export function openBodyStorage({ body_storage }: Settings): BodyStorage | null {
  if (body_storage === null) return null;
  const { place } = body_storage;
  if (place.kind === "folder") return createBodyFolder(path.resolve(place.folder));
  // The AWS SDK is loaded only for a bucket.
  return createLazyBodyStorage(async () => {
    const { createBodyBucket } = await import("@board/functions/body-bucket");
    return createBodyBucket(place);
  });
}
