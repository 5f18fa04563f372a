/** The number of bytes at the start of the content from which its type is detected. */
export const HEAD_BYTES = 4_096;

const UNKNOWN = "application/octet-stream";
const PLAIN = "text/plain";
/** Text types that no browser executes. Any other text, such as HTML or SVG, becomes plain text. */
const TEXT_TYPES: ReadonlySet<string> = new Set(["text/markdown", "text/csv", "text/x-diff", "application/json", PLAIN]);

const ascii = (text: string) => Buffer.from(text, "latin1");

/** The binary types that the console shows. All other binary files are downloaded as `application/octet-stream`. */
const SIGNATURES: readonly { type: string; parts: readonly { at: number; bytes: Buffer }[] }[] = [
  { type: "image/png", parts: [{ at: 0, bytes: ascii("\x89PNG\r\n\x1A\n") }] },
  { type: "image/jpeg", parts: [{ at: 0, bytes: ascii("\xFF\xD8\xFF") }] },
  { type: "image/gif", parts: [{ at: 0, bytes: ascii("GIF8") }] },
  {
    type: "image/webp",
    parts: [
      { at: 0, bytes: ascii("RIFF") },
      { at: 8, bytes: ascii("WEBP") },
    ],
  },
  { type: "application/pdf", parts: [{ at: 0, bytes: ascii("%PDF-") }] },
];

/**
 * Detects the type from the first bytes. The declared type only chooses between the types of text above, so that content never
 * gets a type that a browser would execute.
 */
export function contentTypeOf(head: Uint8Array, declared: string): string {
  const bytes = Buffer.from(head.buffer, head.byteOffset, head.byteLength);
  const known = SIGNATURES.find(({ parts }) =>
    parts.every(({ at, bytes: sign }) => bytes.subarray(at, at + sign.length).equals(sign)),
  );
  if (known) return known.type;
  if (!isText(head)) return UNKNOWN;
  const type = declared.split(";", 1)[0]!.trim().toLowerCase();
  return TEXT_TYPES.has(type) ? type : PLAIN;
}

/** Checks whether the bytes are UTF-8 without NUL. The last character may be incomplete. */
function isText(head: Uint8Array): boolean {
  if (head.includes(0)) return false;
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(head, { stream: true });
    return true;
  } catch {
    return false;
  }
}
