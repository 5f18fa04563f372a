import { and, eq, isNull, type Placeholder, type SQL, sql } from "drizzle-orm";
import type { Context } from "../context/context.ts";
import { rowsOf } from "../db/database.ts";
import { preparedQuery } from "../db/prepared.ts";
import { DomainError } from "../values/errors.ts";
import { seal, unseal } from "../values/seal.ts";
import { addMs } from "../values/time.ts";
import { idempotency_keys as keys, idempotency_usage as usage } from "../schema/idempotency.sql.ts";

/** A request with an Idempotency-Key (docs/reference/conventions.md#repeated-requests). */
export interface RepeatableRequest {
  caller_id: string;
  /** The organization whose budget the stored answer counts toward; the user if there is no organization. */
  owner_id: string;
  operation: string;
  key: string;
  /** The hash of the request. It shows whether a key is used for a different request. */
  hash: Uint8Array;
}

export interface StoredAnswer {
  status: number;
  headers: Record<string, string>;
  text: string;
}

const SHARDS = 8;
/** After this time, in milliseconds, a claim belongs to a process that has crashed, because no request runs longer. */
const CLAIM_MS = 60_000;
/** The wait before a retry, in seconds. Expired answers are removed once an hour. */
const FULL_RETRY_AFTER = 3_600;

const stillRunning = () =>
  new DomainError("conflict", "The first request with this Idempotency-Key is still running. Send it again in a second.", {
    retry_after_seconds: 1,
  });

const noRoom = () =>
  new DomainError(
    "limited",
    "The organization has no room for more answers to requests with an Idempotency-Key. Wait until old ones expire.",
    { retry_after_seconds: FULL_RETRY_AFTER },
  );

/** Throws `conflict` if the first request with the key is still running. */
export function requireNotRunning(isRunning: boolean): void {
  if (isRunning) throw stillRunning();
}

const isSameKey = ({ caller_id, operation, key }: Record<"caller_id" | "operation" | "key", string | Placeholder>) =>
  and(eq(keys.caller_id, caller_id), eq(keys.operation, operation), eq(keys.key, key));

const preparedSameKey = isSameKey({
  caller_id: sql.placeholder("caller_id"),
  operation: sql.placeholder("operation"),
  key: sql.placeholder("key"),
});

/**
 * Stores an answer in the caller's transaction, together with the change. Waits for other transactions that store the same key.
 * Returns false if the key is already used. The caller must then roll back and answer with `readAnswer`.
 */
export async function storeAnswer(ctx: Context, request: RepeatableRequest, answer: StoredAnswer): Promise<boolean> {
  const answer_sealed = sealAnswer(ctx, answer);
  const { status } = answer;
  return insertKey(ctx, request, { status, answer_sealed, size_bytes: answer_sealed.byteLength, created_at: ctx.now() });
}

interface NewKey {
  status: number | null;
  answer_sealed: Uint8Array | null;
  size_bytes: number;
  created_at: Date;
}

/**
 * Inserts the key and counts its bytes, in one statement. A row without an answer is replaced if it is older than `crashed_before`.
 */
async function insertKey(ctx: Context, request: RepeatableRequest, row: NewKey, crashed_before?: Date): Promise<boolean> {
  const result = await insertKeyQuery(ctx.db, crashed_before !== undefined).execute({
    ...request,
    ...row,
    created_at: row.created_at.toISOString(),
    crashed_before: crashed_before?.toISOString() ?? null,
    shard: Math.floor(Math.random() * SHARDS),
    max_bytes: ctx.settings.budgets.organization_idempotency_bytes,
  });
  const { stored, has_room, used } = rowsOf<{ stored: boolean; has_room: boolean; used: boolean }>(result)[0]!;
  if (!stored && !has_room && !used) throw noRoom();
  return stored;
}

const insertKeyQuery = preparedQuery((_db, takesOver: boolean) => {
  const value = (name: keyof RepeatableRequest | keyof NewKey | "shard" | "max_bytes" | "crashed_before") =>
    sql`${sql.placeholder(name)}`;
  const isCrashed = sql`${keys}.status is null and ${keys}.created_at < ${value("crashed_before")}::timestamptz`;
  const onConflict = takesOver
    ? sql`do update set request_hash = excluded.request_hash, created_at = excluded.created_at where ${isCrashed}`
    : sql`do nothing`;
  return sql`
    with room as (
      select ${value("max_bytes")}::bigint = 0
        or coalesce(sum(size_bytes), 0) + ${value("size_bytes")}::integer <= ${value("max_bytes")}::bigint as has_room
      from ${usage} where owner_id = ${value("owner_id")}::uuid
    ), stored as (
      insert into ${keys} (caller_id, operation, key, owner_id, request_hash, status, answer_sealed, shard, size_bytes, created_at)
      select ${value("caller_id")}::uuid, ${value("operation")}, ${value("key")}, ${value("owner_id")}::uuid, ${value("hash")}::bytea,
        ${value("status")}::smallint, ${value("answer_sealed")}::bytea, ${value("shard")}::smallint, ${value("size_bytes")}::integer,
        ${value("created_at")}::timestamptz
      from room where has_room
      on conflict (caller_id, operation, key) ${onConflict}
      returning owner_id, shard, size_bytes
    ), counted as (${addUsage(sql`stored`)})
    select exists (select from stored) as stored, has_room, exists (select from ${keys} where ${preparedSameKey}) as used
    from room`;
});

/** Builds the statement that adds the bytes of stored rows to the usage of their owner. */
const addUsage = (rows: SQL) => sql`
  insert into ${usage} (owner_id, shard, size_bytes) select owner_id, shard, size_bytes from ${rows} where size_bytes > 0
  on conflict (owner_id, shard) do update set size_bytes = ${usage}.size_bytes + excluded.size_bytes`;

/** A request that has reserved its key. */
export interface Claim {
  request: RepeatableRequest;
  claimed_at: Date;
}

/**
 * Reserves the key for a request that calls another server and so cannot keep a transaction open. Returns null if the key is
 * already used. The claim of a crashed process is taken over.
 */
export async function claimKey(ctx: Context, request: RepeatableRequest): Promise<Claim | null> {
  const claimed_at = ctx.now();
  const row = { status: null, answer_sealed: null, size_bytes: 0, created_at: claimed_at };
  const isClaimed = await insertKey(ctx, request, row, addMs(claimed_at, -CLAIM_MS));
  return isClaimed ? { request, claimed_at } : null;
}

const isOwnClaim = ({ request, claimed_at }: Claim) =>
  and(isSameKey(request), isNull(keys.status), eq(keys.created_at, claimed_at));

/** Stores the answer to a request that reserved its key. Does nothing if the claim was already completed or taken over. */
export async function completeClaim(ctx: Context, claim: Claim, answer: StoredAnswer): Promise<void> {
  const sealed = sealAnswer(ctx, answer);
  await ctx.db.execute(sql`
    with stored as (
      update ${keys} set status = ${answer.status}, answer_sealed = ${sealed}, size_bytes = ${sealed.byteLength}
      where ${isOwnClaim(claim)} returning owner_id, shard, size_bytes
    ) ${addUsage(sql`stored`)}`);
}

/** Releases the key of a request that failed, so that the request may be repeated. */
export async function releaseClaim(ctx: Context, claim: Claim): Promise<void> {
  await ctx.db.delete(keys).where(isOwnClaim(claim));
}

/** Reads the stored answer. Throws if the key was used for a different request, or if the first request is still running. */
export async function readAnswer(ctx: Context, request: RepeatableRequest): Promise<StoredAnswer> {
  const answer = await findAnswer(ctx, request);
  if (answer === null) throw stillRunning();
  return answer;
}

/** Returns the stored answer, or null if there is none yet. Throws if the key was used for a different request. */
export async function findAnswer(ctx: Context, request: RepeatableRequest): Promise<StoredAnswer | null> {
  const { caller_id, operation, key } = request;
  const [stored] = await selectKey(ctx.db).execute({ caller_id, operation, key });
  if (stored && !Buffer.from(stored.request_hash).equals(request.hash))
    throw new DomainError("invalid", "Idempotency-Key was used with another request.");
  if (!stored || stored.status === null || stored.answer_sealed === null) return null;
  return { status: stored.status, ...unsealAnswer(ctx, stored.answer_sealed) };
}

const selectKey = preparedQuery((db) => db.select().from(keys).where(preparedSameKey));

const sealAnswer = (ctx: Context, { headers, text }: StoredAnswer): Buffer =>
  seal(ctx.settings.encryption_key, JSON.stringify({ headers, text }));

function unsealAnswer(ctx: Context, sealed: Uint8Array): Pick<StoredAnswer, "headers" | "text"> {
  try {
    return JSON.parse(unseal(ctx.settings.encryption_key, sealed)) as Pick<StoredAnswer, "headers" | "text">;
  } catch {
    throw new DomainError(
      "conflict",
      "The request was done, but its answer can no longer be read: the service's key has changed.",
    );
  }
}
