/** Runs one attack against a server and measures what organization B notices. */
import { fork } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "vitest";
import { type FakeGateway, startFakeGateway } from "../../support/fake-gateway/server.ts";
import { buildArchive, archivePath, type CodeHost, indexPath, respondWith, startCodeHost } from "../../support/code-host.ts";
import { type IdentityProvider, startIdentityProvider } from "../../support/identity-provider.ts";
import { type Names, startNames } from "../../support/names.ts";
import { temporaryFolder } from "../../support/program.ts";
import type { ServerProcess } from "../../support/server-process.ts";
import { findWebRedirect } from "../../support/web-redirect.ts";
import { attacks } from "./attacks/all.ts";
import type { AttackStart, Tally } from "./attacker.ts";
import type { Sample } from "../load/arrivals.ts";
import { createTasks, startWork } from "../load/ordinary-work.ts";
import { HOST_TOKEN } from "../load/hosts.ts";
import { createTenant, type Tenant } from "../load/tenants.ts";
import { writeFileSync } from "node:fs";

/** The guaranteed limit: 99 of 100 pieces of B's work are done in this time during every attack. */
const MAX_P99_MS = 5_000;
/** The measurement continues this long after the attacker has stopped, because its leftovers must not hurt either. */
const AFTER_MS = 500;

/** What all servers of a run share: the world outside of the service. */
export interface Outside {
  identities: IdentityProvider;
  names: Names;
  codeHost: CodeHost;
  hosts: { own: FakeGateway; victim: FakeGateway };
  /** For every server of the run. */
  environment: Record<string, string>;
  close(): Promise<void>;
}

export interface Tenants {
  a: Tenant;
  b: Tenant;
  /** The tasks that B works on. */
  task_ids: string[];
}

/** A proxy is trusted, so that attackers have many addresses. */
const SETTINGS = { TRUSTED_PROXIES: "127.0.0.1" };

/** What an attack did, as the table shows it. */
export interface Outcome {
  samples: Sample[];
  tally: Tally;
  alive: boolean;
  /** Settings of B's host that a directive in a text changed. */
  obeyed: unknown[];
  summary: Record<string, string | number>;
}

export async function startOutside(): Promise<Outside> {
  const folder = temporaryFolder();
  const [identities, names, codeHost, own, victim] = await Promise.all([
    startIdentityProvider(),
    startNames(),
    startCodeHost(),
    startFakeGateway({ token: HOST_TOKEN }),
    startFakeGateway({ token: HOST_TOKEN, dialect: "2026.9.6" }),
  ]);
  const { port, ca } = findWebRedirect(codeHost.web)!;
  const certificate = path.join(folder, "certificate");
  writeFileSync(certificate, ca);
  await publishHostilePacks(codeHost);
  return {
    identities,
    names,
    codeHost,
    hosts: { own, victim },
    environment: { ...names.env, OTHERS_PORT: String(port), OTHERS_CA: certificate, ...SETTINGS },
    async close() {
      await Promise.all([own.close(), victim.close(), codeHost.close(), names.close(), identities.close()]);
    },
  };
}

const PACKS = ["evil/index", "evil/headings"];

async function publishHostilePacks(codeHost: CodeHost): Promise<void> {
  const [index, headings] = PACKS as [string, string];
  const entry = { name: " ".repeat(200_000), description: "a ".repeat(100_000), path: `${"/".repeat(1_900)}x` };
  const skills = JSON.stringify({ skills: Array.from({ length: 30 }, () => entry) });
  for (const branch of ["main", "HEAD"]) codeHost.answers.set(indexPath(index, branch), respondWith(Buffer.from(skills)));
  const costly = `---\nname:${" ".repeat(30_000)}x\n---\n${"#".repeat(1_000)}${" ".repeat(1_000)}x`;
  const files = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`skills/${n}/SKILL.md`, costly]));
  const archive = await buildArchive(files, "headings-main");
  for (const ref of ["refs/heads/main", "HEAD"]) codeHost.answers.set(archivePath(headings, ref), respondWith(archive));
}

/** Creates both organizations on a server. */
export async function createTenants(server: ServerProcess, { identities, hosts }: Outside): Promise<Tenants> {
  const [a, b] = await Promise.all([
    createTenant(server.url, identities, "a", hosts.own),
    createTenant(server.url, identities, "b", hosts.victim),
  ]);
  return { a, b, task_ids: await createTasks(server.url, b) };
}

export interface AttackOptions {
  name: string;
  seed: number;
  /** Replaces the attack's own duration. */
  seconds?: number;
}

const DEFAULT_SECONDS = 5;
const FRESH_TOKENS = 60;

export async function runAttack(
  server: ServerProcess,
  outside: Outside,
  { a, b, task_ids }: Tenants,
  options: AttackOptions,
): Promise<Outcome> {
  const { name, seed } = options;
  const { victim } = outside.hosts;
  const obeyed_before = victim.host.obeyed.length;
  const started = Date.now();
  const work = await startWork({ url: server.url, tenant: b, host: victim }, task_ids);
  const attacker = fork(path.join(import.meta.dirname, "attacker.ts"), { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  let tally: Tally = {};
  attacker.on("message", (message) => (tally = message as Tally));
  const start: AttackStart = {
    name,
    seed,
    url: server.url,
    own: a,
    victim: { signed_path: b.signed.path, open_path: b.open_path },
    fresh_tokens: await Promise.all(
      Array.from({ length: FRESH_TOKENS }, (_, n) => outside.identities.token(a.subject, { jti: n })),
    ),
    pack_urls: PACKS.map((pack) => `https://github.com/${pack}`),
  };
  attacker.send(start);
  await pause((options.seconds ?? attacks[name]!.seconds ?? DEFAULT_SECONDS) * 1_000);
  const exited = once(attacker, "exit");
  attacker.kill("SIGKILL");
  await exited;
  await pause(AFTER_MS);
  await work.stop();
  const { samples } = work;
  const usage = server.usageSince(started);
  const times = samples.map(({ ms }) => ms).toSorted((one, other) => one - other);
  const at = (share: number) => Math.round(times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0);
  const slowest = samples.toSorted((one, other) => other.ms - one.ms)[0];
  return {
    samples,
    tally,
    alive: server.isAlive(),
    obeyed: victim.host.obeyed.slice(obeyed_before),
    summary: {
      attack: name,
      "B's work": samples.length,
      p50: at(0.5),
      p99: at(0.99),
      max: at(1),
      slowest: slowest?.kind ?? "",
      failed: failuresOf(samples).length,
      "memory MB": usage.memory_mb,
      "stall ms": usage.stall_ms,
      alive: server.isAlive() ? "yes" : "no",
      "A's answers": Object.entries(tally)
        .map(([status, count]) => `${status}: ${count}`)
        .join(", "),
    },
  };
}

const failuresOf = (samples: readonly Sample[]) =>
  samples.filter(({ status }) => typeof status === "string" || status >= 300).map(({ kind, status }) => `${kind}: ${status}`);

/** Expects that the attack did not hurt B: all its requests succeeded, and 99 of 100 took at most MAX_P99_MS. */
export function expectUnharmed(outcome: Outcome): void {
  expectCorrect(outcome);
  expect(failuresOf(outcome.samples)).toEqual([]);
  expect(outcome.summary["p99"]).toBeLessThanOrEqual(MAX_P99_MS);
}

/** Expects the part of the guarantee that does not depend on the speed of the machine. */
export function expectCorrect({ samples, tally, alive, obeyed }: Outcome): void {
  expect(alive).toBe(true);
  expect(samples.length).toBeGreaterThan(0);
  expect(samples.filter(({ status }) => typeof status === "number" && status >= 300)).toEqual([]);
  expect(obeyed).toEqual([]);
  expect(Object.keys(tally).filter((status) => status === "500" || status.startsWith("error"))).toEqual([]);
}
