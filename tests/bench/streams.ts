import { setTimeout as pause } from "node:timers/promises";
import { boards, organization_board_access, organization_members, users } from "@board/core/schema/all-tables";
import { openPostgres } from "@board/core/db/postgres";
import { silentLog } from "@board/core/values/log";
import { eq } from "drizzle-orm";
import { startIdentityProvider } from "../support/identity-provider.ts";
import type { Postgres } from "../support/postgres.ts";
import { follow, type Stream } from "./follow.ts";
import type { BenchEnvironment as Bench } from "./environment.ts";
import { round, type Row } from "./row.ts";
import { type Service, startService } from "./service.ts";
import { type Percentiles, percentilesOf, type ResourceUsage, measureUsage } from "./resource-usage.ts";

const STREAMS = 1_000;
const DATABASE = "streams";
/** The number of streams whose events are timed. Events of the others are only counted. */
const TIMED = 20;
/** How long to wait until all streams have received a comment. */
const TIMEOUT_MS = 30_000;

interface StreamFigures {
  what: string;
  without: ResourceUsage;
  with_streams: ResourceUsage;
  /** The time from the response to the request that posts a comment until the stream delivers the comment. Timed streams only. */
  delay_ms: Percentiles;
  /** The number of comments that were lost or duplicated, over all streams. */
  wrong: number;
}

type Headers = Record<string, string>;
interface StreamTargets {
  organization_id: string;
  comments: string;
}

/** Measures reads and new comments with many open comment streams, compared with the same load without streams. */
export async function benchStreams({ postgres }: Bench): Promise<Row[]> {
  const figures = await measureStreams(postgres);
  const state = ({ request_ms, memory_mb, statements_per_second, connections }: ResourceUsage) =>
    `list boards p50 ${round(request_ms.p50)} ms, p99 ${round(request_ms.p99)} ms; ${round(memory_mb)} MB, ${round(statements_per_second)} statements/s, ${connections} connections at work`;
  return figures.map(({ what, without, with_streams, delay_ms, wrong }) => ({
    what: `${STREAMS.toLocaleString("en")} streams ${what}`,
    figure: `${state(with_streams)}; comments received after p50 ${round(delay_ms.p50)} ms, p99 ${round(delay_ms.p99)} ms, ${wrong} lost or duplicated`,
    target: "nothing lost, no connection held",
    baseline: `no streams: ${state(without)}`,
    ratio: `p99 ${(with_streams.request_ms.p99 / without.request_ms.p99).toFixed(2)}x`,
    statements: "",
  }));
}

/** Follows the comment feed of an organization with a thousand clients, first of one person and then of a thousand people. */
async function measureStreams(postgres: Postgres): Promise<StreamFigures[]> {
  const url = await postgres.createDatabase(DATABASE);
  const figures: StreamFigures[] = [];
  const alone = await startService({ DATABASE_URL: url });
  let place: StreamTargets;
  try {
    const own = { authorization: `Bearer ${alone.token}` };
    place = await seed(alone, own);
    figures.push(await measure("of one credential", postgres, alone, place, Array(STREAMS).fill(own)));
  } finally {
    await alone.stop();
  }
  const provider = await startIdentityProvider();
  const { issuer } = provider;
  const oidc = { AUTH_MODE: "oidc", OIDC_ISSUER: issuer, OIDC_JWKS_URL: `${issuer}keys` };
  const names = Array.from({ length: STREAMS }, (_, n) => `person-${n}`);
  const people = await Promise.all(
    names.map(async (name): Promise<Headers> => ({ authorization: `Bearer ${await provider.token(name)}` })),
  );
  const service = await startService({ DATABASE_URL: url, ...oidc });
  try {
    await addPeople(url, place, names);
    figures.push(await measure("of as many people, with a right to all boards", postgres, service, place, people));
    await restrict(url, place);
    figures.push(await measure("of as many people, with grants", postgres, service, place, people));
  } finally {
    await service.stop();
    await provider.close();
  }
  return figures;
}

async function send<T>({ url }: Service, path: string, headers: Headers, body: object): Promise<T> {
  const answer = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}

async function seed(service: Service, own: Headers): Promise<StreamTargets> {
  const create = (path: string, body: object) => send<{ id: string; organization_id: string }>(service, path, own, body);
  const host = { name: "Streams", url: "ws://127.0.0.1:9", workspace_root: "/srv", token: "test-token-123" };
  const gateway = await create("/api/v1/gateways", host);
  const board = await create("/api/v1/boards", { name: "Streams", description: "Streams", gateway_id: gateway.id });
  const task = await create(`/api/v1/boards/${board.id}/tasks`, { title: "Streams" });
  return { organization_id: board.organization_id, comments: `/api/v1/boards/${board.id}/tasks/${task.id}/comments` };
}

async function addPeople(url: string, { organization_id }: StreamTargets, names: string[]): Promise<void> {
  const database = openPostgres(url, { log: silentLog });
  const { db } = database;
  const made = await db
    .insert(users)
    .values(names.map((name) => ({ auth_subject: name, name, active_organization_id: organization_id })))
    .returning();
  const member = { organization_id, role: "member" as const, all_boards_write: true };
  await db.insert(organization_members).values(made.map(({ id }) => ({ ...member, user_id: id })));
  await database.close();
}

/** Replaces the members' right to all boards by a right to the only board. */
async function restrict(url: string, { organization_id }: StreamTargets): Promise<void> {
  const database = openPostgres(url, { log: silentLog });
  const { db } = database;
  const own = eq(organization_members.organization_id, organization_id);
  const [board] = await db.select().from(boards).where(eq(boards.organization_id, organization_id));
  const members = await db
    .update(organization_members)
    .set({ all_boards_read: false, all_boards_write: false })
    .where(own)
    .returning();
  const grant = { board_id: board!.id, can_read: true, can_write: true };
  await db.insert(organization_board_access).values(members.map(({ id }) => ({ ...grant, organization_member_id: id })));
  await database.close();
}

async function measure(
  what: string,
  postgres: Postgres,
  service: Service,
  { comments }: StreamTargets,
  readers: Headers[],
): Promise<StreamFigures> {
  const own = readers[0]!;
  const written = new Map<string, number>();
  const write = async () => {
    const message = crypto.randomUUID();
    await send(service, comments, own, { message });
    written.set(message, performance.now());
  };
  const look = () => measureUsage({ postgres, database: DATABASE, service, headers: own, write });
  const without = await look();
  written.clear();
  const streams: Stream[] = [];
  const open = (headers: Headers) => follow(`${service.url}/api/v1/activity/task-comments/stream`, headers);
  for (let at = 0; at < readers.length; at += TIMED)
    streams.push(...(await Promise.all(readers.slice(at, at + TIMED).map(open))));
  const timed = [...streams.slice(0, TIMED / 2), ...streams.slice(-TIMED / 2)];
  for (const stream of timed) stream.received = new Map();
  // Waits until the load of opening the streams is over.
  await pause(5_000);
  const with_streams = await look();
  const enough = performance.now() + TIMEOUT_MS;
  while (performance.now() < enough && streams.some(({ events }) => events < written.size)) await pause(100);
  for (const stream of streams) stream.close();
  const delays = timed.flatMap(({ received }) =>
    [...written].map(([message, at]) => (received!.get(message) ?? Number.POSITIVE_INFINITY) - at),
  );
  const wrong = streams.reduce((sum, { events }) => sum + Math.abs(events - written.size), 0);
  await pause(1_000);
  return { what, without, with_streams, delay_ms: percentilesOf(delays), wrong };
}
