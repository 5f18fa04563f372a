import { hash } from "node:crypto";
import type { Agent, User } from "@board/core/context/actor";
import type { Context } from "@board/core/context/context";
import { isForeignKeyViolation } from "@board/core/db/query-error";
import { withDeadlockRetry } from "@board/core/db/retry-transaction";
import { DomainError, InvalidInput } from "@board/core/values/errors";
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

/** Whether an operation accepts a key: every POST of people and agents that answers with its schema. */
export const isRepeatable = ({ method, spec }: Endpoint): boolean =>
  method === "POST" && (spec.as.users || spec.as.agents) && spec.hidden !== true;

/**
 * Returns what identifies a request with a key, or null without a key. `asked` is the input, which a repetition must not change.
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
  // In another active organization, the same request means something else.
  const place = endpoint.spec.as.organization ? organization_id : null;
  return {
    caller_id,
    owner_id: organization_id ?? caller_id,
    operation: `${endpoint.method} ${endpoint.paths[0]}`,
    key,
    hash: Buffer.from(hash("sha256", JSON.stringify([place, asked]), "buffer")),
  };
}

/** Requests with a key, as this process knows them: those that it is working on, and the latest that it has answered. */
export interface KnownRequests {
  running: Set<string>;
  answered: Set<string>;
}

/** An entry takes about 150 bytes. A repetition that no longer has one is answered too, at the cost of a first request. */
const MAX_ANSWERED = 10_000;

export const createKnownRequests = (): KnownRequests => ({ running: new Set(), answered: new Set() });

function noteAnswered({ answered }: KnownRequests, name: string): void {
  answered.add(name);
  // A set lists its entries in the order in which they were added.
  if (answered.size > MAX_ANSWERED) answered.delete(answered.values().next().value!);
}

export interface RunOptions {
  known: KnownRequests;
  /** The operation calls another server, so no transaction may stay open during the call. */
  calls_out: boolean;
  /** Checks access without running the operation; undefined if only the operation itself can. */
  authorize: (() => Promise<unknown>) | undefined;
  /** Fields of the answer that are not stored. */
  secrets: readonly string[];
  /** Converts what the operation returns. */
  toAnswer: (result: unknown) => StoredAnswer;
}

/** Runs a request at most once per key, and answers a repeated one with the first answer. */
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
 * The stored answer, without running the operation only to roll it back. Null if access is refused, since the operation decides
 * what such a caller gets, or if the answer has expired.
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

/** The header of a repeated answer that lacks a secret, which is shown only once. */
export const OMITTED = "Idempotent-Omitted";

/** Removes secrets, which are shown only once: a repeated answer has null instead and names the fields. */
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
 * Runs the operation and stores its answer in one transaction. A repeated request runs too and is rolled back: this checks the
 * caller's rights again, and the first request needs no query for its key. `findAllowedAnswer` answers most repetitions. Returns null when the key is used.
 */
async function runInTransaction(
  ctx: Context,
  request: RepeatableRequest,
  toStored: (answer: StoredAnswer) => StoredAnswer,
  run: Run,
): Promise<StoredAnswer | null> {
  try {
    return await withDeadlockRetry(ctx, async (inside) => {
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

/** Reserves the key, runs the operation and stores its answer, unless the operation has already stored it with its change. */
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
    if (!isRecorded) await completeClaim(ctx, claim, toStored(answer));
    return answer;
  } catch (error) {
    const refusal = await toRefusal(ctx, error);
    if (!refusal) await releaseClaim(ctx, claim);
    else {
      await completeClaim(ctx, claim, refusal);
      return refusal;
    }
    throw error;
  }
}

/** Statuses of refusals that a mere repetition of the request would not change. */
const STORED_REFUSALS = [403, 404, 409, 410, 422];

/** Returns the answer to a refused request, which is stored too. Null means a failure, after which the request may run again. */
async function toRefusal(ctx: Context, error: unknown): Promise<StoredAnswer | null> {
  if (!(error instanceof DomainError || error instanceof InvalidInput || isForeignKeyViolation(error))) return null;
  // A caller without the right has changed nothing, and may get the right later.
  if (error instanceof DomainError && error.extra.is_access) return null;
  const response = toErrorResponse(error, ctx.actor.type === "agent", ctx.log);
  const { status } = response;
  if (!STORED_REFUSALS.includes(status) || response.headers.has("retry-after")) return null;
  return { status, headers: {}, text: await response.text() };
}
