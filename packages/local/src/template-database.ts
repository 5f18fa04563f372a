import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, brotliDecompress, constants } from "node:zlib";
import { migrationsFolder } from "@board/core/db/database";
import { EMBEDDED_VERSION, openPglite } from "@board/core/db/pglite";
import { packFolder, unpackFolder } from "./packed-folder.ts";

/** Folder of packed databases. Creating an embedded database takes seconds, unpacking one does not. */
const TEMPLATES = fileURLToPath(new URL("../../../dist/database", import.meta.url));
const DIGEST_BYTES = 32;
/** The quality of the Brotli compression. Higher qualities take seconds longer. */
const QUALITY = 5;

const sha256 = (content: Uint8Array | string): Buffer => createHash("sha256").update(content).digest();

/**
 * Returns the file of the template. Its name is a digest of the migrations and the database version, so that a template of other
 * migrations is never used.
 */
async function templateFile(folder: string): Promise<string> {
  const migrations = migrationsFolder();
  const names = (await readdir(migrations, { recursive: true })).filter((name) => name.endsWith(".sql")).toSorted();
  const texts = await Promise.all([...names, "meta/_journal.json"].map((name) => readFile(path.join(migrations, name))));
  const hashes = texts.map((text) => sha256(text).toString("hex"));
  const key = sha256(JSON.stringify([EMBEDDED_VERSION, hashes])).toString("hex");
  return path.join(folder, `${key.slice(0, 16)}.br`);
}

/**
 * Creates the folder of an embedded database with all migrations. It unpacks the template, or runs the migrations and then saves
 * a template. The folder is renamed when it is complete, so a killed process leaves only a draft.
 */
export async function createDatabaseFolder(target: string, templates = TEMPLATES): Promise<void> {
  const draft = `${target}.draft`;
  await rm(draft, { recursive: true, force: true });
  // The database creates files that every user of the machine may read, so the folder must be private.
  await mkdir(draft, { recursive: true, mode: 0o700 });
  const file = await templateFile(templates);
  const packed = await readTemplate(file);
  if (packed !== null) unpackFolder(await promisify(brotliDecompress)(packed), draft);
  else {
    const database = await openPglite({ folder: draft });
    try {
      await database.migrate();
    } finally {
      await database.close();
    }
    // If the program's folder is not writable, the template is not saved and every first start is slow.
    await saveTemplate(draft, file).catch(() => {});
  }
  await rename(draft, target);
}

/** Creates the template of these migrations, unless there is one. */
export async function makeTemplate(): Promise<void> {
  if ((await readTemplate(await templateFile(TEMPLATES))) !== null) return;
  await mkdir(TEMPLATES, { recursive: true });
  const folder = await mkdtemp(path.join(TEMPLATES, "draft-"));
  try {
    await createDatabaseFolder(path.join(folder, "database"));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Returns the packed folder, or null when there is none or its digest differs. */
async function readTemplate(file: string): Promise<Buffer | null> {
  const content = await readFile(file).catch(() => Buffer.alloc(0));
  const packed = content.subarray(DIGEST_BYTES);
  return packed.length > 0 && sha256(packed).equals(content.subarray(0, DIGEST_BYTES)) ? packed : null;
}

/** Saves a template and removes the templates of other migrations. */
async function saveTemplate(folder: string, file: string): Promise<void> {
  const packed = await promisify(brotliCompress)(packFolder(folder), { params: { [constants.BROTLI_PARAM_QUALITY]: QUALITY } });
  const templates = path.dirname(file);
  await mkdir(templates, { recursive: true });
  const partial = `${file}.${process.pid}`;
  await writeFile(partial, Buffer.concat([sha256(packed), packed]));
  await rename(partial, file);
  for (const name of await readdir(templates))
    if (name.endsWith(".br") && name !== path.basename(file)) await rm(path.join(templates, name), { force: true });
}
