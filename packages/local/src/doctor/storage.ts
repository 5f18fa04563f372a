import { randomUUID } from "node:crypto";
import { access, constants } from "node:fs/promises";
import path from "node:path";
import type { Settings } from "@board/core/config/settings";
import { toBodyKey } from "@board/core/context/body-storage";
import { errorText } from "@board/core/values/log";
import { openBodyStorage } from "../body-storage.ts";
import { type Finding, ok, warning, wrong } from "./finding.ts";

const CHECK = "body storage";

/** Checks that bodies can be read from their storage, by reading an object that does not exist. It writes nothing. */
export async function checkBodyStorage(settings: Settings): Promise<Finding[]> {
  const { body_storage } = settings;
  if (body_storage === null) return [];
  const { place } = body_storage;
  return [place.kind === "folder" ? await checkFolder(path.resolve(place.folder)) : await checkBucket(settings, place.bucket)];
}

async function checkFolder(folder: string): Promise<Finding> {
  try {
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    return ok(CHECK, `${folder} can be read and written`);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT")
      return warning(CHECK, `${folder} does not exist yet`, "If bodies were moved there before, mount the folder.");
    return wrong(CHECK, `${folder} cannot be written: ${code}`, "Give the user of the service the right to read and write it.");
  }
}

async function checkBucket(settings: Settings, bucket: string): Promise<Finding> {
  const key = toBodyKey({ organization_id: randomUUID(), payload_id: randomUUID() });
  try {
    await openBodyStorage(settings)!.get(key, 1);
    return ok(CHECK, `${bucket} answers`);
  } catch (error) {
    const remedy = "Check the name of the bucket, its region, the credentials, and that they may list and read objects.";
    return wrong(CHECK, `${bucket} cannot be read: ${errorText(error)}`, remedy);
  }
}
