import { pipeline, Readable } from "node:stream";
import { ReadableStream } from "node:stream/web";
import { createGunzip } from "node:zlib";
import { createTarDecoder, type ParsedTarEntry } from "modern-tar";
import { DomainError } from "../values/errors.ts";
import { FetchError } from "../context/http-client.ts";

/** Size and time limits for reading an archive. */
export interface ArchiveLimits {
  unpacked_bytes: number;
  /** The maximum number of entries in an archive, not counting folders. */
  files: number;
  /** When reading must end, in milliseconds on the clock of `performance.now()`. */
  deadline: number;
}

interface ArchiveFile {
  /** The path relative to the root of the repository. */
  path: string;
  content: Uint8Array;
  /** True if `content` is only the beginning of the file. */
  is_cut: boolean;
}

/**
 * How many bytes may be unpacked between the end of one entry and the start of the next. The decoder reads ahead and buffers
 * whole extended headers, so this limit rejects, for example, an archive with a PAX header of 100 MB.
 */
const MAX_BYTES_BETWEEN_ENTRIES = 2 * 1024 * 1024;

/**
 * Streams selected files of a repository's archive (tar.gz). `maxBytesOf` returns how many bytes of the file at a path to keep in
 * memory, or null to skip the file. Links, devices and paths outside the repository are skipped. Throws a DomainError, or the
 * FetchError of the source.
 */
export async function* readArchive(
  compressed: AsyncIterable<Uint8Array>,
  limits: ArchiveLimits,
  maxBytesOf: (path: string) => number | null,
): AsyncGenerator<ArchiveFile, void> {
  let bytesSinceEntry = 0;
  let maxBytesSinceEntry = MAX_BYTES_BETWEEN_ENTRIES;
  async function* unpack() {
    let size = 0;
    const gunzip = createGunzip();
    pipeline(Readable.from(compressed, { objectMode: false }), gunzip, () => {});
    for await (const chunk of gunzip as AsyncIterable<Uint8Array>) {
      size += chunk.length;
      bytesSinceEntry += chunk.length;
      if (size > limits.unpacked_bytes) throw tooLarge(`more than ${limits.unpacked_bytes} bytes`);
      if (bytesSinceEntry > maxBytesSinceEntry) throw tooLarge("extremely long file names");
      requireTimeLeft(limits);
      yield chunk;
    }
  }
  const entries = ReadableStream.from(unpack()).pipeThrough(createTarDecoder({ strict: true }));
  let files = 0;
  try {
    for await (const { header, body } of entries as AsyncIterable<ParsedTarEntry>) {
      bytesSinceEntry = 0;
      maxBytesSinceEntry = header.size + MAX_BYTES_BETWEEN_ENTRIES;
      if (header.type !== "directory") files += 1;
      if (files > limits.files) throw tooLarge(`more than ${limits.files} files`);
      requireTimeLeft(limits);
      const path = header.type === "file" ? pathInRepository(header.name) : null;
      const max_bytes = path === null ? null : maxBytesOf(path);
      if (path === null || max_bytes === null) await body.cancel();
      else yield { path, ...(await readPrefix(body, max_bytes)) };
    }
  } catch (error) {
    if (error instanceof DomainError || error instanceof FetchError) throw error;
    throw new DomainError("unavailable", "The repository's archive is damaged or not an archive");
  }
}

const tooLarge = (what: string) => new DomainError("invalid", `The repository is too large: it has ${what}`);

function requireTimeLeft({ deadline }: ArchiveLimits): void {
  if (performance.now() > deadline) throw new FetchError("timeout", "The repository took too long");
}

/**
 * Returns the path without the top folder that the code host adds to an archive. Returns null if the path is not in this folder.
 */
function pathInRepository(name: string): string | null {
  const parts = name.split("/").filter((part) => part !== "" && part !== ".");
  if (name.startsWith("/") || parts.includes("..")) return null;
  return parts.slice(1).join("/") || null;
}

/** Reads the first `max_bytes` of a file and skips the rest. */
async function readPrefix(body: ParsedTarEntry["body"], max_bytes: number): Promise<{ content: Uint8Array; is_cut: boolean }> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of body as AsyncIterable<Uint8Array>) {
    parts.push(part.subarray(0, max_bytes - size));
    size += part.length;
    if (size > max_bytes) break;
  }
  return { content: Buffer.concat(parts), is_cut: size > max_bytes };
}
