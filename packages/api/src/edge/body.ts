import { DomainError, type FieldProblem, InvalidInput } from "@board/core/values/errors";
import type { BodyBudget, HeldBody } from "./body-budget.ts";

/** The limit for all operations except webhook ingestion. */
const MAX_BODY_BYTES = 1_048_576;
const MAX_DEPTH = 32;

const tooLarge = (max: number) => new DomainError("too_large", `Payload exceeds maximum size of ${max} bytes.`);
const incomplete = () => new DomainError("incomplete_body", "The request ended before its body was complete.");

/** The body of one request, as its handler reads it. */
export interface RequestBody {
  /**
   * Reads at most `max` bytes. Content-Length is checked first and then the bytes are counted, so that no more than `max` are
   * buffered.
   */
  read(max: number): Promise<Uint8Array>;
  /** Passes on at most `max` bytes as they arrive, without keeping them. */
  chunks(max: number): AsyncIterable<Uint8Array>;
  /** Frees the memory. Call it once the answer is ready. */
  release(): void;
}

export function createRequestBody(request: Request, budget: BodyBudget, address: string): RequestBody {
  let held: HeldBody | undefined;

  async function readAll(stream: ReadableStream<Uint8Array>, max: number, declared: number): Promise<Uint8Array> {
    const reader = stream.getReader();
    const buffer = createBuffer(declared > 0 ? declared : max);
    let refusal: DomainError | undefined;
    const body = (held = budget.open(address));
    body.refuse = (error) => {
      refusal = error;
      // Canceling the reader ends the read that waits for more bytes.
      void reader.cancel().catch(() => {});
    };
    for (;;) {
      const { done, value } = await reader.read().catch((): never => {
        throw refusal ?? incomplete();
      });
      if (refusal) throw refusal;
      if (done) break;
      if (buffer.size + value.byteLength > max) throw tooLarge(max);
      budget.add(body, buffer.append(value));
    }
    body.refuse = null;
    return buffer.bytes();
  }

  const declaredBytes = (max: number): number => {
    const declared = Number(request.headers.get("content-length") ?? 0);
    if (declared > max) throw tooLarge(max);
    return declared;
  };

  async function* passOn(stream: ReadableStream<Uint8Array>, max: number) {
    const reader = stream.getReader();
    let refusal: DomainError | undefined;
    const body = (held = budget.openPassing(address));
    body.refuse = (error) => {
      refusal = error;
      void reader.cancel().catch(() => {});
    };
    try {
      for (let size = 0; ; ) {
        const { done, value } = await reader.read().catch((): never => {
          throw refusal ?? incomplete();
        });
        if (refusal) throw refusal;
        if (done) return;
        size += value.byteLength;
        if (size > max) throw tooLarge(max);
        budget.pass(body, value.byteLength);
        yield value;
      }
    } finally {
      body.refuse = null;
      void reader.cancel().catch(() => {});
    }
  }

  return {
    async read(max) {
      const declared = declaredBytes(max);
      if (!request.body) return new Uint8Array();
      return readAll(request.body, max, declared);
    },
    async *chunks(max) {
      declaredBytes(max);
      if (request.body) yield* passOn(request.body, max);
    },
    release() {
      if (held) budget.release(held);
    },
  };
}

const MIN_CAPACITY = 4_096;

/**
 * Collects chunks in one block that doubles when it is full. If the chunks were kept, thousands of one-byte chunks would each
 * keep an object and the block of memory in which they were received.
 */
function createBuffer(max_capacity: number) {
  let first: Uint8Array | undefined;
  let block = new Uint8Array();
  let size = 0;
  return {
    get size() {
      return size;
    },
    /** Returns by how many bytes the buffer has grown. */
    append(chunk: Uint8Array): number {
      // Most bodies consist of one chunk, which does not have to be copied.
      if (size === 0) {
        first = chunk;
        return (size = chunk.byteLength);
      }
      const before = first ? first.byteLength : block.byteLength;
      const needed = size + chunk.byteLength;
      if (first || needed > block.byteLength) {
        const grown = new Uint8Array(Math.max(needed, Math.min(2 * needed, max_capacity), MIN_CAPACITY));
        grown.set(first ?? block.subarray(0, size));
        block = grown;
        first = undefined;
      }
      block.set(chunk, size);
      size = needed;
      return block.byteLength - before;
    },
    bytes: (): Uint8Array => first ?? block.subarray(0, size),
  };
}

/** Parses a body as JSON regardless of its Content-Type. An empty body is treated as `{}`. */
export async function readJson(body: RequestBody): Promise<unknown> {
  const bytes = await body.read(MAX_BODY_BYTES);
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
 * A value in a body, with its location. The path is built only if there is a problem, because a body may have half a million
 * values.
 */
interface Located {
  value: unknown;
  key: string | number;
  parent: Located | null;
  depth: number;
}

/**
 * Finds values that pass a schema but cannot be stored in the database: NUL, unpaired surrogates, very deep nesting. Returns the
 * first problem, or null. It uses a stack, since recursion could overflow on deep input.
 */
export function findUnstorable(root: unknown, loc: (string | number)[]): FieldProblem | null {
  const pending: Located[] = [{ value: root, key: "", parent: null, depth: 0 }];
  for (let at = pending.pop(); at; at = pending.pop()) {
    const { value, depth } = at;
    if (typeof value === "string" && !isStorable(value)) return toProblem(pathTo(at, loc), UNSTORABLE_TEXT);
    if (typeof value !== "object" || value === null) continue;
    if (depth >= MAX_DEPTH) return toProblem(loc, `JSON must not be nested deeper than ${MAX_DEPTH} levels`);
    const isList = Array.isArray(value);
    const keys = Object.keys(value);
    // The stack reverses the order, so children are pushed in reverse. In that way the first problem in the body is found first.
    for (let index = keys.length - 1; index >= 0; index--) {
      const key = keys[index]!;
      if (!isStorable(key)) return toProblem(pathTo(at, loc), UNSTORABLE_TEXT);
      const child: unknown = value[key as keyof typeof value];
      if (typeof child === "string" || (typeof child === "object" && child !== null))
        pending.push({ value: child, key: isList ? index : key, parent: at, depth: depth + 1 });
    }
  }
  return null;
}

function pathTo(at: Located, loc: readonly (string | number)[]): (string | number)[] {
  const keys: (string | number)[] = [];
  for (let part = at; part.parent; part = part.parent) keys.push(part.key);
  return [...loc, ...keys.toReversed()];
}

const UNSTORABLE_TEXT = "text must not hold NUL or unpaired surrogates";

const isStorable = (text: string) => !text.includes("\0") && text.isWellFormed();

const toProblem = (loc: (string | number)[], text: string): FieldProblem => ({
  type: "value_error",
  loc,
  msg: `Value error, ${text}`,
  input: null,
});
