import { hash } from "node:crypto";
import type { Agent, User } from "@board/core/context/actor";
import { type Context, transaction } from "@board/core/context/context";
import { isForeignKeyViolation } from "@board/core/db/query-error";
import { withDatabaseRetry } from "@board/core/db/retry-unavailable";
import { DomainError, InvalidInput } from "@board/core/values/errors";
import { errorText } from "@board/core/values/log";
import {
  claimKey,
  completeClaim,
  findAnswer,
  readAnswer,
  releaseClaim,
  type RepeatableRequest,
  requireNotRunning,
  storeAnswer,
  type StoredAnswer,
} from "@board/core/idempotency/idempotency";
import { passPrefetchedBoard } from "@board/core/context/prefetched-board";
import { createPendingWakeups, mergePendingWakeups } from "@board/core/context/pending-wakeups";
import * as z from "zod";
import type { Endpoint } from "../endpoint.ts";
import { toErrorResponse } from "./errors.ts";
import { lazyObject } from "@board/core/values/wire";

const NAME = "Idempotency-Key";
const PRINTABLE = /^[\x20-\x7E]{1,255}$/;

/** The header as the OpenAPI document shows it. */
export const IdempotencyKeyHeader = lazyObject(() => ({
  [NAME]: z
    .string()
    .min(1)
    .max(255)
    .optional()
    .describe("Makes the request safe to repeat: for 24 hours the same key and body get the first answer again."),
}));

/** The header of a repeated answer, as the OpenAPI document shows it. */
export const REPLAYED = "Idempotent-Replayed";

/** Returns whether an operation accepts a key. Every documented POST of people and agents does. */
export const isRepeatable = ({ method, spec }: Endpoint): boolean =>
  method === "POST" && (spec.as.users || spec.as.agents) && spec.hidden !== true;

/**
 * Returns what identifies a request with a key, or null if it has no key. `asked` is the input, which must not change when the
 * request is repeated.
 */
export function toRepeatableRequest(
  endpoint: Endpoint,
  ctx: Context,
  headers: Headers,
  asked: unknown,
): RepeatableRequest | null {
  const key = headers.get(NAME);
  if (key === null || !isRepeatable(endpoint)) return null;
  if (!PRINTABLE.test(key)) throw new DomainError("invalid", `${NAME} must have 1 to 255 printable ASCII characters.`);
  const actor = ctx.actor as User | Agent;
  const organization_id = actor.type === "agent" ? actor.organization_id : (actor.active?.organization_id ?? null);
  const caller_id = actor.type === "agent" ? actor.agent_id : actor.user_id;
  // The same request means something else if another organization is active, so the organization is part of the hash.
  const place = endpoint.spec.as.organization ? organization_id : null;
  return {
    caller_id,
    owner_id: organization_id ?? caller_id,
    operation: `${endpoint.method} ${endpoint.paths[0]}`,
    key,
    hash: Buffer.from(hash("sha256", JSON.stringify([place, asked]), "buffer")),
  };
}

/** The requests with a key that this process is working on, and the latest requests with a key that it has answered. */
export interface KnownRequests {
  running: Set<string>;
  answered: Set<string>;
}

/**
 * An entry takes about 150 bytes. Without an entry, a repeated request is still answered correctly, but costs as much as the first
 * one.
 */
const MAX_ANSWERED = 10_000;

export const createKnownRequests = (): KnownRequests => ({ running: new Set(), answered: new Set() });

function noteAnswered({ answered }: KnownRequests, name: string): void {
  answered.add(name);
  // A set lists its entries in the order in which they were added, so this deletes the oldest entry.
  if (answered.size > MAX_ANSWERED) answered.delete(answered.values().next().value!);
}

export interface RunOptions {
  known: KnownRequests;
  /** True if the operation calls another server. No transaction may stay open during such a call. */
  calls_out: boolean;
  /** Checks access without running the operation. Undefined if only the operation itself can check it. */
  authorize: (() => Promise<unknown>) | undefined;
  /** Fields of the answer that must not be stored. */
  secrets: readonly string[];
  /** Converts the return value of the operation to an answer. */
  toAnswer: (result: unknown) => StoredAnswer;
}

/** Runs a request at most once per key. A repeated request gets the first answer. */
export async function runOnce(
  ctx: Context,
  request: RepeatableRequest,
  { known, calls_out, authorize, secrets, toAnswer }: RunOptions,
  run: (ctx: Context) => Promise<unknown>,
): Promise<StoredAnswer> {
  const name = JSON.stringify([request.caller_id, request.operation, request.key]);
  requireNotRunning(known.running.has(name));
  known.running.add(name);
  try {
    const known_answer = authorize && known.answered.has(name) ? await findAllowedAnswer(ctx, request, authorize) : null;
    if (known_answer) return replay(known_answer);
    const runAnswer = async (ctx: Context) => toAnswer(await run(ctx));
    const toStored = (answer: StoredAnswer) => omitSecrets(answer, secrets);
    const record = (result: unknown) => toStored(toAnswer(result));
    if (calls_out) await authorize?.();
    const answer = await (calls_out
      ? runClaimed(ctx, request, { record, toStored }, runAnswer)
      : runInTransaction(ctx, request, toStored, runAnswer));
    noteAnswered(known, name);
    return answer ?? replay(await readAnswer(ctx, request));
  } finally {
    known.running.delete(name);
  }
}

/**
 * Returns the stored answer, so that the operation does not run only to be rolled back. Returns null if the answer has expired or
 * if access is refused. The operation then runs, and throws the error itself if access is refused.
 */
async function findAllowedAnswer(
  ctx: Context,
  request: RepeatableRequest,
  authorize: () => Promise<unknown>,
): Promise<StoredAnswer | null> {
  const isAllowed = await authorize().then(
    () => true,
    () => false,
  );
  return isAllowed ? findAnswer(ctx, request) : null;
}

const replay = (answer: StoredAnswer): StoredAnswer => ({ ...answer, headers: { ...answer.headers, [REPLAYED]: "true" } });

/** The header of a repeated answer in which secrets are missing, because they are shown only once. */
export const OMITTED = "Idempotent-Omitted";

/** Removes secrets, which are shown only once. A repeated answer has null in their place and lists their fields in a header. */
function omitSecrets(answer: StoredAnswer, secrets: readonly string[]): StoredAnswer {
  if (secrets.length === 0) return answer;
  const shown = JSON.parse(answer.text) as Record<string, unknown>;
  const text = JSON.stringify({ ...shown, ...Object.fromEntries(secrets.map((name) => [name, null])) });
  return { ...answer, headers: { ...answer.headers, [OMITTED]: secrets.join(", ") }, text };
}

/** Thrown to roll back the change of a repeated request. */
class KeyIsUsed extends Error {}

type Run = (ctx: Context) => Promise<StoredAnswer>;

/**
 * Runs the operation and stores its answer in one transaction. If the key is already used, it rolls back and returns null, so that
 * a first request needs no query for its key. Most repeated requests are answered by `findAllowedAnswer` instead.
 */
async function runInTransaction(
  ctx: Context,
  request: RepeatableRequest,
  toStored: (answer: StoredAnswer) => StoredAnswer,
  run: Run,
): Promise<StoredAnswer | null> {
  try {
    return await transaction(ctx, async (inside) => {
      const pendingWakeups = createPendingWakeups();
      passPrefetchedBoard(ctx, inside.db);
      const answer = await run({ ...inside, request_transaction: inside.db, pendingWakeups });
      if (!(await storeAnswer(inside, request, toStored(answer)))) throw new KeyIsUsed();
      mergePendingWakeups(ctx.pendingWakeups, pendingWakeups);
      return answer;
    });
  } catch (error) {
    if (error instanceof KeyIsUsed) return null;
    const refusal = await toRefusal(ctx, error);
    if (!refusal) throw error;
    return (await storeAnswer(ctx, request, refusal)) ? refusal : null;
  }
}

/**
 * Reserves the key, runs the operation and stores its answer, unless the operation has stored the answer together with its change.
 */
async function runClaimed(
  ctx: Context,
  request: RepeatableRequest,
  { record, toStored }: { record: (result: unknown) => StoredAnswer; toStored: (answer: StoredAnswer) => StoredAnswer },
  run: Run,
): Promise<StoredAnswer | null> {
  const claim = await claimKey(ctx, request);
  if (!claim) return null;
  let isRecorded = false;
  const recordAnswer = async (ctx: Context, result: unknown) => {
    await completeClaim(ctx, claim, record(result));
    isRecorded = true;
  };
  try {
    const answer = await run({ ...ctx, recordAnswer });
    if (!isRecorded) await tryToWrite(ctx, () => completeClaim(ctx, claim, toStored(answer)));
    return answer;
  } catch (error) {
    const refusal = await toRefusal(ctx, error);
    await tryToWrite(ctx, () => (refusal ? completeClaim(ctx, claim, refusal) : releaseClaim(ctx, claim)));
    if (refusal) return refusal;
    throw error;
  }
}

const MAX_WRITE_MS = 2_000;

/**
 * Ends a claim. If that fails, the caller still gets the answer, because the operation has run. The key stays reserved, so that a
 * repeated request does not run the operation again, until the claim counts as crashed.
 */
const tryToWrite = (ctx: Context, write: () => Promise<void>): Promise<void> =>
  withDatabaseRetry(write, MAX_WRITE_MS).catch((error: unknown) => ctx.log.error("idempotency.not_stored", errorText(error)));

/** Statuses of refusals that would not change if the same request were sent again. */
const STORED_REFUSALS = [403, 404, 409, 410, 422];

/** Returns the answer to store for a refused request, or null if the request failed and may run again. */
async function toRefusal(ctx: Context, error: unknown): Promise<StoredAnswer | null> {
  if (!(error instanceof DomainError || error instanceof InvalidInput || isForeignKeyViolation(error))) return null;
  // The refusal is not stored. A request without the necessary rights has changed nothing, and the caller may get the rights
  // later.
  if (error instanceof DomainError && error.extra.is_access) return null;
  const response = toErrorResponse(error, ctx.actor.type === "agent", ctx.log);
  const { status } = response;
  if (!STORED_REFUSALS.includes(status) || response.headers.has("retry-after")) return null;
  return { status, headers: {}, text: await response.text() };
}
