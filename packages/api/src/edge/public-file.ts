import { compress, type Encoding, selectEncoding } from "./content-encoding.ts";
import { findMatchingTag, toEntityTag } from "./etag.ts";
import { markComplete, MIN_ENCODED_BYTES } from "./representation.ts";

/** A text that is the same for everyone and that anyone may read. */
export interface PublicFile {
  headers: { "content-type": string; "cache-control": string } & Readonly<Record<string, string>>;
  bytes: Uint8Array;
  /** Reads a version that the build has encoded; null if the build did not create it. */
  readEncoded?: (encoding: Encoding) => Promise<Uint8Array | null>;
}

/** Returns the file with a name. `load` runs once per name and process, and again after a failure. */
export type PublicFiles = (name: string, load: () => Promise<PublicFile>) => Promise<EncodedFile>;

/** A file and its encodings. Each encoding is created when it is first requested, and again after a failure. */
export interface EncodedFile {
  file: PublicFile;
  /** Returns the bytes in an encoding, with their tag. */
  read(this: void, encoding: Encoding | null): Promise<{ bytes: Uint8Array<ArrayBuffer>; tag: string }>;
}

/**
 * Keeps public files encoded in memory. Anyone may request them as often as they like, so a request must not cause the work of
 * building or compressing a large document.
 */
export function createPublicFiles(): PublicFiles {
  const files = new Map<string, Promise<EncodedFile>>();
  return (name, load) => {
    const known = files.get(name);
    if (known) return known;
    const file = load().then(encodeOnce);
    files.set(name, file);
    file.catch(() => files.delete(name));
    return file;
  };
}

function encodeOnce(file: PublicFile): EncodedFile {
  const bytes = Buffer.from(file.bytes);
  const encodings = new Map<Encoding | null, ReturnType<EncodedFile["read"]>>();
  const encode = async (encoding: Encoding) => {
    const encoded = await file.readEncoded?.(encoding);
    return encoded ? Buffer.from(encoded) : compress(encoding, bytes);
  };
  const make = async (encoding: Encoding | null) => ({
    bytes: encoding ? await encode(encoding) : bytes,
    tag: toEntityTag(bytes, encoding),
  });
  return {
    file,
    read(encoding) {
      const known = encodings.get(encoding);
      if (known) return known;
      const made = make(encoding);
      encodings.set(encoding, made);
      made.catch(() => encodings.delete(encoding));
      return made;
    },
  };
}

/** Answers with the file in the encoding that the client prefers, or with 304 if the client already has it. */
export async function answerPublicFile({ file, read }: EncodedFile, headers: Headers): Promise<Response> {
  const isLong = file.bytes.byteLength >= MIN_ENCODED_BYTES;
  const encoding = isLong ? selectEncoding(headers.get("accept-encoding") ?? undefined) : null;
  const { bytes, tag } = await read(encoding);
  const match = findMatchingTag(headers.get("if-none-match") ?? undefined, tag);
  const { "content-type": content_type, ...others } = file.headers;
  const common = { ...others, etag: match ?? tag, ...(isLong ? { vary: "Accept-Encoding" } : {}) };
  if (match !== null) return markComplete(new Response(null, { status: 304, headers: common }));
  const encoded: Record<string, string> = encoding ? { "content-encoding": encoding } : {};
  return markComplete(new Response(bytes, { headers: { "content-type": content_type, ...common, ...encoded } }));
}
