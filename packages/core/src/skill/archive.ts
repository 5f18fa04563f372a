import { pipeline, Readable } from "node:stream";
import { ReadableStream } from "node:stream/web";
import { createGunzip } from "node:zlib";
import { createTarDecoder, type ParsedTarEntry } from "modern-tar";
import { DomainError } from "../errors.ts";
import { WebError } from "../web/web.ts";

/** What an archive may cost. */
export interface ArchiveLimits {
  unpacked_bytes: number;
  /** All entries but folders. */
  files: number;
  /** On the clock of `performance.now()`. */
  deadline: number;
}

export interface ArchiveFile {
  /** Below the repository's root. */
  path: string;
  content: Uint8Array;
  /** The file goes on behind `content`. */
  is_cut: boolean;
}

/**
 * Bytes behind one entry until the next is there: what the decoder may have read ahead, and the names of the next entry in
 * headers of their own, which it takes apart all at once.
 */
const BETWEEN_ENTRIES = 2 * 1024 * 1024;

/**
 * The wanted files of a repository's archive (tar, gzip) in its order. `wanted` tells how many bytes of a path are to be
 * kept; null leaves it out. Nothing else is ever held, and nothing behind a limit is unpacked. Links, devices and paths that
 * lead out of the tree are left out. Throws a DomainError, or the WebError of the source.
 */
export async function* readArchive(
  compressed: AsyncIterable<Uint8Array>,
  limits: ArchiveLimits,
  wanted: (path: string) => number | null,
): AsyncGenerator<ArchiveFile, void> {
  let behind = 0;
  let allowed = BETWEEN_ENTRIES;
  async function* unpack() {
    let size = 0;
    const gunzip = createGunzip();
    pipeline(Readable.from(compressed, { objectMode: false }), gunzip, () => {});
    for await (const chunk of gunzip as AsyncIterable<Uint8Array>) {
      size += chunk.length;
      behind += chunk.length;
      if (size > limits.unpacked_bytes) throw tooMuch(`more than ${limits.unpacked_bytes} bytes`);
      if (behind > allowed) throw tooMuch("names of extraordinary length");
      requireTime(limits);
      yield chunk;
    }
  }
  const entries = ReadableStream.from(unpack()).pipeThrough(createTarDecoder({ strict: true }));
  let files = 0;
  try {
    for await (const { header, body } of entries as AsyncIterable<ParsedTarEntry>) {
      behind = 0;
      allowed = header.size + BETWEEN_ENTRIES;
      if (header.type !== "directory") files += 1;
      if (files > limits.files) throw tooMuch(`more than ${limits.files} files`);
      requireTime(limits);
      const path = header.type === "file" ? pathInTree(header.name) : null;
      const max_bytes = path === null ? null : wanted(path);
      if (path === null || max_bytes === null) await body.cancel();
      else yield { path, ...(await readHead(body, max_bytes)) };
    }
  } catch (error) {
    if (error instanceof DomainError || error instanceof WebError) throw error;
    throw new DomainError("unavailable", "The repository's archive is damaged, or none at all");
  }
}

const tooMuch = (what: string) => new DomainError("invalid", `The repository is too large: it has ${what}`);

function requireTime({ deadline }: ArchiveLimits): void {
  if (performance.now() > deadline) throw new WebError("timeout", "The repository took too long");
}

/** The path without the folder that the code host packs everything into; null when it is none in there. */
function pathInTree(name: string): string | null {
  const parts = name.split("/").filter((part) => part !== "" && part !== ".");
  if (name.startsWith("/") || parts.includes("..")) return null;
  return parts.slice(1).join("/") || null;
}

/** The first bytes of a file; what follows is passed over. */
async function readHead(body: ParsedTarEntry["body"], max_bytes: number): Promise<{ content: Uint8Array; is_cut: boolean }> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of body as AsyncIterable<Uint8Array>) {
    parts.push(part.subarray(0, max_bytes - size));
    size += part.length;
    if (size > max_bytes) break;
  }
  return { content: Buffer.concat(parts), is_cut: size > max_bytes };
}
