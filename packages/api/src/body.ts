import { DomainError, type FieldProblem, InvalidInput } from "@board/core/errors";

/** The limit for all operations except webhook ingestion. */
const MAX_BODY_BYTES = 1_048_576;
const MAX_DEPTH = 32;

const tooLarge = (max: number) => new DomainError("too_large", `Payload exceeds maximum size of ${max} bytes.`);

/** Reads a body of at most `max` bytes. Checks Content-Length first, then counts, so that no more than `max` is buffered. */
export async function readBytes(request: Pick<Request, "headers" | "body">, max: number): Promise<Uint8Array> {
  if (Number(request.headers.get("content-length") ?? 0) > max) throw tooLarge(max);
  if (!request.body) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body) {
    size += chunk.byteLength;
    if (size > max) throw tooLarge(max);
    chunks.push(chunk);
  }
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}

/** Parses a body as JSON regardless of its Content-Type. An empty body counts as `{}`. */
export async function readJson(request: Request): Promise<unknown> {
  const bytes = await readBytes(request, MAX_BODY_BYTES);
  let value: unknown;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    value = text.trim() === "" ? {} : JSON.parse(text);
  } catch {
    throw new InvalidInput([{ type: "json_invalid", loc: ["body"], msg: "JSON decode error", input: null }]);
  }
  const problem = findUnstorable(value, ["body"]);
  if (problem) throw new InvalidInput([problem]);
  return value;
}

/**
 * Finds values that pass a schema but cannot be stored in the database: NUL, unpaired surrogates, very deep nesting.
 * Returns the first problem, or null. Uses a stack, since recursion could overflow on deep input.
 */
export function findUnstorable(root: unknown, loc: (string | number)[]): FieldProblem | null {
  const pending: { value: unknown; loc: (string | number)[] }[] = [{ value: root, loc }];
  for (let at = pending.pop(); at; at = pending.pop()) {
    const { value, loc: here } = at;
    if (typeof value === "string" && !isStorable(value)) return toProblem(here, "text must not hold NUL or unpaired surrogates");
    if (typeof value !== "object" || value === null) continue;
    if (here.length - loc.length >= MAX_DEPTH) return toProblem(loc, `JSON must not be nested deeper than ${MAX_DEPTH} levels`);
    // The stack reverses the order, so children are pushed backwards to report the first problem of the body.
    for (const [key, child] of Object.entries(value).toReversed()) {
      if (!isStorable(key)) return toProblem(here, "text must not hold NUL or unpaired surrogates");
      pending.push({ value: child, loc: [...here, Array.isArray(value) ? Number(key) : key] });
    }
  }
  return null;
}

const isStorable = (text: string) => !text.includes("\0") && text.isWellFormed();

const toProblem = (loc: (string | number)[], text: string): FieldProblem => ({
  type: "value_error",
  loc,
  msg: `Value error, ${text}`,
  input: null,
});
