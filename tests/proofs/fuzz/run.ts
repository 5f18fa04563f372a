import { inspect } from "node:util";
import { jobs } from "@board/core/schema/all-tables";
import type { FakeGateway } from "../../support/fake-gateway/server.ts";
import { desc, eq, gt, inArray } from "drizzle-orm";
import fc from "fast-check";
import type { CallOptions } from "../../support/http.ts";
import { deliverConcurrently } from "../../support/provisioning.ts";
import type { World } from "../../support/world.ts";
import { returnToOrganization, createFuzzTenant, type FuzzTenant } from "./callers.ts";
import { type Api, type Operation, readApi } from "./document.ts";
import { fingerprintOf } from "./fingerprint.ts";
import { createOracle } from "./oracle.ts";
import { isJson, recordIds } from "./record-ids.ts";
import { createGenerator, type RequestPlan } from "./plan.ts";
import { createSecrets } from "./secrets.ts";
import { withEndpoint, withTools } from "./tools.ts";
import { type ReceivedResponse, type FuzzTenants, buildRequest, send, type SentRequest } from "./request.ts";

export interface FuzzOptions {
  seed: number;
  /** The least number of requests. Each round tests every operation. */
  requests: number;
  /** How many operations are tested at the same time. */
  clients: number;
  /** The host of the agents, and the host of the organization that must not change. */
  hosts: { home: FakeGateway; victim: FakeGateway };
  /** Where subscriptions send events. */
  receiver: { url: string };
  /** Stops after the current round once this many seconds have passed. */
  seconds?: number;
  /** Called after each round. */
  progress?: (requests: number, failures: number) => void;
  /** Called with each problem when it is found, since an error may end the run before its result. */
  report?: (problem: string) => void;
}

export interface FuzzResult {
  api: Api;
  requests: number;
  /** The number of answers by operation and status. */
  seen: Map<string, Map<number, number>>;
  /** The problems, each with its request. */
  failures: string[];
  /** What has changed in the victim's organization, whose callers send no generated requests. */
  changed: string[];
}

/** Requests per operation and round; about half as many for deletions. */
const REQUESTS_PER_ROUND = 5;
/** How many further requests are sent to find a smaller request that fails too. */
const MAX_SHRINKS = 60;
/** After this many rounds all callers move to a new organization, since lists grow. */
const ROUNDS_PER_TENANT = 4;
/**
 * Agents are cleaned up once in this many rounds. The other rounds drop these jobs, because each waits a second for the config
 * lock of its host.
 */
const ROUNDS_PER_CLEANUP = 10;

/**
 * Sends generated requests to every operation of the served document and checks every answer. The requests depend on the
 * seed and, for ids, on earlier answers.
 */
export async function fuzz(
  world: World,
  { seed, requests, clients, hosts, receiver, seconds = Number.POSITIVE_INFINITY, progress, report }: FuzzOptions,
): Promise<FuzzResult> {
  const api = withTools(readApi(withEndpoint((await world.call("GET", "/openapi.json")).body)));
  const generate = createGenerator(api);
  const secrets = createSecrets();
  const judge = createOracle(world, api, secrets);
  const seen = new Map<string, Map<number, number>>();
  const failures = new Map<string, string>();
  const addFailure = (key: string, problem: string) => {
    if (failures.has(key)) return;
    failures.set(key, problem);
    report?.(problem);
  };
  let count = 0;
  let tenants = 0;
  /** Whether a caller's credential became invalid, so that the run needs a new tenant. */
  let broken = false;

  async function newTenant(name: string, host: FakeGateway): Promise<FuzzTenant> {
    tenants += 1;
    const household = await createFuzzTenant(world, `${name}-${tenants}`, host);
    for (const { options } of Object.values(household.callers)) secrets.keep((options.token ?? options.agent)!);
    return household;
  }

  const createOperations = api.operations.filter(
    ({ method, path }) => method === "POST" && api.operations.some((other) => other.path.startsWith(`${path}/{`)),
  );

  /** Creates rows of every kind as the owner. */
  async function seedRows(cast: FuzzTenants, at: number): Promise<void> {
    for (const operation of createOperations) {
      let made = 0;
      for (const plan of fc.sample(generate(operation), { seed: at, numRuns: 12 })) {
        if (made === 2) break;
        const caller = operation.users ? "owner" : operation.agents ? "lead" : "nobody";
        const { answered } = await attempt({ ...plan, caller, method: "POST", credentials: {}, segments: {} }, cast);
        if (answered.status < 300) made += 1;
      }
    }
  }

  async function attempt(
    plan: RequestPlan,
    cast: FuzzTenants,
  ): Promise<{ sent: SentRequest; answered: ReceivedResponse; problem: string | null }> {
    const { home } = cast;
    const sent = buildRequest(plan, cast);
    const { answered, problem } = await sendAndJudge(sent, cast);
    const { status, text } = answered;
    if (status < 300 && text.startsWith("{") && isJson(answered)) {
      const { auth_token, token, key } = JSON.parse(text) as Record<string, unknown>;
      for (const secret of [auth_token, token, key]) if (typeof secret === "string") secrets.keep(secret);
    }
    if (!plan.caller.startsWith("another ") && plan.caller !== "passer-by") recordIds(api, home.pool, sent, answered);
    if (status < 300 && plan.method !== "GET" && plan.operation.path.includes("/organizations"))
      await returnToOrganization(world, home, plan.caller);
    if (status === 401 && isKnown(plan, home) && judge.operationOf(sent) === plan.operation) broken = true;
    const tag = answered.headers.get("etag");
    if (!plan.revalidates || tag === null || problem) return { sent, answered, problem };
    const again = { ...sent, headers: { ...sent.headers, "if-none-match": tag } };
    return { sent: again, ...(await sendAndJudge(again, cast)) };
  }

  async function sendAndJudge(
    sent: SentRequest,
    cast: FuzzTenants,
  ): Promise<{ answered: ReceivedResponse; problem: string | null }> {
    const answered = await send(world, sent);
    count += 1;
    const { name } = sent.plan.operation;
    const counts = seen.get(name) ?? new Map<number, number>();
    seen.set(name, counts.set(answered.status, (counts.get(answered.status) ?? 0) + 1));
    return { answered, problem: judge.findProblem(sent, answered, cast) };
  }

  async function check(operation: Operation, cast: FuzzTenants, own_seed: number): Promise<void> {
    let failed = 0;
    const property = fc.asyncProperty(generate(operation), async (plan) => {
      if (failed > MAX_SHRINKS) return;
      if (failed > 0) failed += 1;
      const { sent, answered, problem } = await attempt(plan, cast);
      if (!problem) return;
      failed ||= 1;
      throw new Error(`${problem}\n${formatExchange(sent, answered)}`);
    });
    const numRuns = operation.method === "DELETE" ? Math.ceil(REQUESTS_PER_ROUND / 2) : REQUESTS_PER_ROUND;
    const result = await fc.check(property, { seed: own_seed, numRuns });
    if (!result.failed) return;
    const text = result.errorInstance instanceof Error ? result.errorInstance.message : String(result.errorInstance);
    // The same problem is reported only once.
    const kind = text.split("\n", 1)[0]!.replaceAll(/[0-9a-f-]{16,}/g, "…");
    const key = `${operation.name} ${kind.slice(0, 120)}`;
    addFailure(key, `${operation.name}: ${text}\nFUZZ_SEED=${seed}, seed of this operation ${own_seed}`);
  }

  /** Runs the queued jobs. A host may refuse them, but none may crash. */
  async function drainJobs(round: number): Promise<void> {
    if (round % ROUNDS_PER_CLEANUP !== 0) await world.db.delete(jobs).where(eq(jobs.kind, "agent.cleanup"));
    await deliverConcurrently(world);
    const logged = judge.findLogProblem();
    if (logged) addFailure(logged.slice(0, 120), logged);
    for (const { kind, last_error } of await world.db.select().from(jobs).where(gt(jobs.crashes, 0)))
      addFailure(`job ${kind}`, `a job of kind ${kind} crashed: ${last_error}`);
    // Some delayed jobs are marked as dead, as if all of their attempts had failed, so that there are dead jobs to redrive and
    // delete.
    const latest = world.db.select({ id: jobs.id }).from(jobs).where(eq(jobs.status, "queued")).orderBy(desc(jobs.seq)).limit(6);
    await world.db.update(jobs).set({ status: "dead", finished_at: world.now() }).where(inArray(jobs.id, latest));
    // The others are dropped, since agents that never answer would be woken again and again.
    await world.db.delete(jobs).where(eq(jobs.status, "queued"));
    world.statements.length = world.measurements.length = 0;
    for (const host of [hosts.home, hosts.victim]) host.calls.length = 0;
  }

  const victim = await newTenant("victim", hosts.victim);
  await seedRows({ home: victim, stranger: victim, victim, urls: { host: hosts.victim.url, receiver: receiver.url } }, seed);
  await drainJobs(0);
  const before = await fingerprintOf(world, victim);

  const end = performance.now() + seconds * 1_000;
  let cast: FuzzTenants | undefined;
  for (let round = 0; count < requests && performance.now() < end; round++) {
    if (!cast || round % ROUNDS_PER_TENANT === 0) {
      const [home, stranger] = [await newTenant("home", hosts.home), await newTenant("stranger", hosts.home)];
      cast = { home, stranger, victim, urls: { host: hosts.home.url, receiver: receiver.url } };
    }
    const current = cast;
    await seedRows(current, seed + round);
    const queue = shuffled(api.operations, seed + round).entries();
    const work = async (): Promise<void> => {
      for (const [index, operation] of queue) {
        await check(operation, current, seed + round * 1_000 + index);
        if (!broken) continue;
        broken = false;
        current.home = await newTenant("home", hosts.home);
        await seedRows(current, seed + round);
      }
    };
    await Promise.all(Array.from({ length: clients }, work));
    await drainJobs(round + 1);
    progress?.(count, failures.size);
  }
  const changed = differences(before, await fingerprintOf(world, victim));
  return { api, requests: count, seen, failures: [...failures.values()], changed };
}

/** Checks whether the caller belongs to the tenant and has a valid credential for the operation. */
function isKnown({ caller, credentials, operation }: RequestPlan, { callers }: FuzzTenant): boolean {
  const options: CallOptions = callers[caller]?.options ?? {};
  const isAccepted = options.agent ? operation.agents : options.token !== undefined && operation.users;
  return isAccepted && Object.keys(credentials).length === 0;
}

function shuffled<T>(items: readonly T[], seed: number): T[] {
  const [order = []] = fc.sample(fc.shuffledSubarray([...items], { minLength: items.length }), { seed, numRuns: 1 });
  return order;
}

function differences(before: ReadonlySet<string>, after: ReadonlySet<string>): string[] {
  return [
    ...[...before].filter((row) => !after.has(row)).map((row) => `gone: ${row}`),
    ...[...after].filter((row) => !before.has(row)).map((row) => `new: ${row}`),
  ];
}

const MAX_SHOWN = 2_000;

/** Formats a request, so that it can be repeated, and its answer. */
function formatExchange({ plan, method, target, headers, body }: SentRequest, { status, text }: ReceivedResponse): string {
  const shown = typeof body === "string" || body === null ? body : `base64 ${Buffer.from(body).toString("base64")}`;
  return [
    `${plan.caller}: ${method} ${target}`,
    inspect(headers),
    shown?.slice(0, MAX_SHOWN) ?? "no body",
    `=> ${status} ${text.slice(0, MAX_SHOWN)}`,
  ].join("\n");
}
