import { promisify } from "node:util";
import { brotliCompress, brotliCompressSync, constants, gzip, gzipSync } from "node:zlib";
import { createLimiter } from "@board/core/values/concurrency";
import { parseAccept } from "hono/utils/accept";

/** The content codings of answers. If a client prefers several equally, the first one is used. */
const ENCODINGS = ["br", "gzip"] as const;
export type Encoding = (typeof ENCODINGS)[number];

/** Returns the coding that Accept-Encoding prefers, or null if the answer is to be sent uncompressed. */
export function selectEncoding(header: string | undefined): Encoding | null {
  const accepted = parseAccept(header ?? "");
  const qualityOf = (coding: string) => accepted.find(({ type }) => type.toLowerCase() === coding)?.q;
  const others = qualityOf("*") ?? 0;
  let best: { encoding: Encoding | null; q: number } = { encoding: null, q: qualityOf("identity") ?? 0 };
  for (const encoding of ENCODINGS) {
    const q = qualityOf(encoding) ?? others;
    if (q > best.q || (q === best.q && q > 0 && best.encoding === null)) best = { encoding, q };
  }
  return best.encoding;
}

/** Brotli's default level is meant for files that are compressed once. This level is as fast as gzip and compresses better. */
const brotliOptions = (bytes: Uint8Array) => ({
  params: { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
});

/**
 * Up to this size, compressing on the main thread takes less than 0.1 ms, which is less than passing the bytes to another thread.
 */
const SYNC_MAX_BYTES = 16_384;

const COMPRESSORS = {
  br: {
    now: (bytes: Uint8Array) => brotliCompressSync(bytes, brotliOptions(bytes)),
    later: (bytes: Uint8Array) => promisify(brotliCompress)(bytes, brotliOptions(bytes)),
  },
  gzip: { now: (bytes: Uint8Array) => gzipSync(bytes), later: promisify(gzip) },
};

/** At most two compressions run at a time, because Node's thread pool is small, and file reads and name look-ups need it too. */
const limitLongCompressions = createLimiter(2);

/** Compresses a text. A long text is compressed in another thread, so that this thread can serve other requests. */
export async function compress(encoding: Encoding, text: string | Uint8Array): Promise<Buffer<ArrayBuffer>> {
  const bytes = Buffer.from(text);
  const { now, later } = COMPRESSORS[encoding];
  return bytes.length <= SYNC_MAX_BYTES ? now(bytes) : limitLongCompressions(() => later(bytes));
}
