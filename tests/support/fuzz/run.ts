import { inspect } from "node:util";
import { jobs } from "@board/core/db/schema";
import type { FakeGateway } from "@board/local/fake-gateway/server";
import { eq, gt } from "drizzle-orm";
import fc from "fast-check";
import type { CallOptions } from "../http.ts";
import { workTogether } from "../provisioning.ts";
import type { World } from "../world.ts";
import { comeHome, createHousehold, type Household } from "./callers.ts";
import { type Api, type Operation, readApi } from "./document.ts";
import { fingerprintOf } from "./fingerprint.ts";
import { createJudge } from "./judge.ts";
import { learn } from "./learn.ts";
import { createGenerator, type Plan } from "./plan.ts";
import { createSecrets } from "./secrets.ts";
import { type Answered, type Cast, prepare, send, type Sent } from "./send.ts";

export interface FuzzOptions {
  seed: number;
  /** At least so many; each round gives every operation its share. */
  requests: number;
  /** How many operations are tried beside each other. */
  clients: number;
  /** Where agents run, and where those of the organization run that is left alone. */
  hosts: { home: FakeGateway; victim: FakeGateway };
  /** Ends with the round that is under way after so many seconds, however many requests there were. */
  seconds?: number;
  /** Called after each round. */
  progress?: (requests: number, failures: number) => void;
}

export interface FuzzResult {
  api: Api;
  requests: number;
  /** Answers by operation and status. */
  seen: Map<string, Map<number, number>>;
  /** What was wrong, each with the request that showed it. */
  failures: string[];
  /** What changed in the organization that nobody belongs to. */
  changed: string[];
}

/** Requests per operation and round, about half of them for what removes things: then the order changes. */
const SHARE = 5;
/** After a failure so many requests more, to find a smaller one. */
const SHRINKS = 60;
/** Lists grow: after so many rounds everybody moves to a new organization. */
const ROUNDS_PER_HOUSEHOLD = 4;
/** An agent's clean-up waits for its turn at the host, a second each: those of most rounds are dropped. */
const ROUNDS_PER_CLEANUP = 10;

/**
 * Sends generated requests to every operation of the served document, and judges every answer. What is sent depends on the
 * seed and, where rows are named, on what the service answered before.
 */
export async function fuzz(
  world: World,
  { seed, requests, clients, hosts, seconds = Number.POSITIVE_INFINITY, progress }: FuzzOptions,
): Promise<FuzzResult> {
  const api = readApi((await world.call("GET", "/openapi.json")).body);
  const generate = createGenerator(api);
  const secrets = createSecrets();
  const judge = createJudge(world, api, secrets);
  const seen = new Map<string, Map<number, number>>();
  const failures = new Map<string, string>();
  let count = 0;
  let households = 0;
  /** Somebody's credential is void that was good: another household goes on. */
  let broken = false;

  async function newHousehold(name: string, host: FakeGateway): Promise<Household> {
    households += 1;
    const household = await createHousehold(world, `${name}-${households}`, host);
    for (const { options } of Object.values(household.callers)) secrets.keep((options.token ?? options.agent)!);
    return household;
  }

  const makers = api.operations.filter(
    ({ method, path }) => method === "POST" && api.operations.some((one) => one.path.startsWith(`${path}/{`)),
  );

  /** Something of everything: what can be made is made, by who owns the place. */
  async function furnish(cast: Cast, at: number): Promise<void> {
    for (const operation of makers) {
      let made = 0;
      for (const plan of fc.sample(generate(operation), { seed: at, numRuns: 12 })) {
        if (made === 2) break;
        const caller = operation.users ? "owner" : operation.agents ? "lead" : "nobody";
        const { answered } = await attempt({ ...plan, caller, method: "POST", credentials: {}, segments: {} }, cast);
        if (answered.status < 300) made += 1;
      }
    }
  }

  async function attempt(plan: Plan, cast: Cast): Promise<{ sent: Sent; answered: Answered; problem: string | null }> {
    const { home } = cast;
    const sent = prepare(plan, cast);
    const answered = await send(world, sent);
    count += 1;
    const { status, text } = answered;
    const counts = seen.get(plan.operation.name) ?? new Map<number, number>();
    seen.set(plan.operation.name, counts.set(status, (counts.get(status) ?? 0) + 1));
    const problem = judge.problemOf(sent, answered, cast);
    if (status < 300 && text.startsWith("{")) {
      const { auth_token, token } = JSON.parse(text) as Record<string, unknown>;
      for (const secret of [auth_token, token]) if (typeof secret === "string") secrets.keep(secret);
    }
    if (!plan.caller.startsWith("another ") && plan.caller !== "passer-by") learn(api, home.pool, sent, answered);
    if (status < 300 && plan.method !== "GET" && plan.operation.path.includes("/organizations"))
      await comeHome(world, home, plan.caller);
    if (status === 401 && isKnown(plan, home) && judge.reached(sent) === plan.operation) broken = true;
    return { sent, answered, problem };
  }

  async function check(operation: Operation, cast: Cast, own_seed: number): Promise<void> {
    let failed = 0;
    const property = fc.asyncProperty(generate(operation), async (plan) => {
      if (failed > SHRINKS) return;
      if (failed > 0) failed += 1;
      const { sent, answered, problem } = await attempt(plan, cast);
      if (!problem) return;
      failed ||= 1;
      throw new Error(`${problem}\n${printed(sent, answered)}`);
    });
    const numRuns = operation.method === "DELETE" ? Math.ceil(SHARE / 2) : SHARE;
    const result = await fc.check(property, { seed: own_seed, numRuns });
    if (!result.failed) return;
    const text = result.errorInstance instanceof Error ? result.errorInstance.message : String(result.errorInstance);
    // The same problem is told once, however often it was met.
    const kind = text.split("\n", 1)[0]!.replaceAll(/[0-9a-f-]{16,}/g, "…");
    const key = `${operation.name} ${kind.slice(0, 120)}`;
    if (!failures.has(key))
      failures.set(key, `${operation.name}: ${text}\nFUZZ_SEED=${seed}, this operation's own is ${own_seed}`);
  }

  /** Does what has gathered; the hosts' own refusals end jobs, and none may end by a crash. */
  async function rest(round: number): Promise<void> {
    if (round % ROUNDS_PER_CLEANUP !== 0) await world.db.delete(jobs).where(eq(jobs.kind, "agent.cleanup"));
    await workTogether(world);
    const logged = judge.logged();
    if (logged) failures.set(logged.slice(0, 120), logged);
    for (const { kind, last_error } of await world.db.select().from(jobs).where(gt(jobs.crashes, 0)))
      failures.set(`job ${kind}`, `a job of kind ${kind} crashed: ${last_error}`);
    // What is left is for later: agents that nobody plays would be woken again and again.
    await world.db.delete(jobs).where(eq(jobs.status, "queued"));
    world.statements.length = world.measurements.length = 0;
    for (const host of [hosts.home, hosts.victim]) host.calls.length = 0;
  }

  const victim = await newHousehold("victim", hosts.victim);
  await furnish({ home: victim, stranger: victim, victim, host_url: hosts.victim.url }, seed);
  await rest(0);
  const before = await fingerprintOf(world, victim);

  const end = performance.now() + seconds * 1_000;
  let cast: Cast | undefined;
  for (let round = 0; count < requests && performance.now() < end; round++) {
    if (!cast || round % ROUNDS_PER_HOUSEHOLD === 0) {
      const [home, stranger] = [await newHousehold("home", hosts.home), await newHousehold("stranger", hosts.home)];
      cast = { home, stranger, victim, host_url: hosts.home.url };
    }
    const there = cast;
    await furnish(there, seed + round);
    const queue = shuffled(api.operations, seed + round).entries();
    const work = async (): Promise<void> => {
      for (const [index, operation] of queue) {
        await check(operation, there, seed + round * 1_000 + index);
        if (!broken) continue;
        broken = false;
        there.home = await newHousehold("home", hosts.home);
        await furnish(there, seed + round);
      }
    };
    await Promise.all(Array.from({ length: clients }, work));
    await rest(round + 1);
    progress?.(count, failures.size);
  }
  const changed = differences(before, await fingerprintOf(world, victim));
  return { api, requests: count, seen, failures: [...failures.values()], changed };
}

/** Whether the caller is one of the household, with the credential that is good for the operation. */
function isKnown({ caller, credentials, operation }: Plan, { callers }: Household): boolean {
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

/** As somebody could send it again, and what came back. */
function printed({ plan, method, target, headers, body }: Sent, { status, text }: Answered): string {
  const shown = typeof body === "string" || body === null ? body : `base64 ${Buffer.from(body).toString("base64")}`;
  return [
    `${plan.caller}: ${method} ${target}`,
    inspect(headers),
    shown?.slice(0, MAX_SHOWN) ?? "no body",
    `=> ${status} ${text.slice(0, MAX_SHOWN)}`,
  ].join("\n");
}
