import { promisify } from "node:util";
import { brotliCompress, brotliCompressSync, constants, gzip, gzipSync } from "node:zlib";
import { createLimiter } from "@board/core/values/concurrency";
import { parseAccept } from "hono/utils/accept";

/** The content codings of answers. Of codings that a client likes equally, the first is used. */
const ENCODINGS = ["br", "gzip"] as const;
export type Encoding = (typeof ENCODINGS)[number];

/** Returns the coding that Accept-Encoding prefers. Null means that the answer is sent as it is. */
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

/** Brotli's default is for files that are compressed once. This level is as fast as gzip and smaller. */
const brotliOptions = (bytes: Uint8Array) => ({
  params: { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
});

/** Up to this size, compressing in place takes less time than handing the bytes to another thread: below 0.1 ms. */
const SYNC_MAX_BYTES = 16_384;

const COMPRESSORS = {
  br: {
    now: (bytes: Uint8Array) => brotliCompressSync(bytes, brotliOptions(bytes)),
    later: (bytes: Uint8Array) => promisify(brotliCompress)(bytes, brotliOptions(bytes)),
  },
  gzip: { now: (bytes: Uint8Array) => gzipSync(bytes), later: promisify(gzip) },
};

/** The threads are few, and reading files and looking up names need them too. */
const limitLongCompressions = createLimiter(2);

/** Compresses a text. A long one is left to another thread, so that other requests are served meanwhile. */
export async function compress(encoding: Encoding, text: string | Uint8Array): Promise<Buffer<ArrayBuffer>> {
  const bytes = Buffer.from(text);
  const { now, later } = COMPRESSORS[encoding];
  return bytes.length <= SYNC_MAX_BYTES ? now(bytes) : limitLongCompressions(() => later(bytes));
}
