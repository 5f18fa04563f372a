import crypto, { createHmac, pbkdf2Sync, randomBytes } from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { agents } from "@board/core/schema/all-tables";
import { eq, inArray } from "drizzle-orm";
import { expect, onTestFinished, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";
import { useRealHashing } from "../support/real-hashing.ts";
import { TEST_KEYS } from "../support/world.ts";

useRealHashing();
const world = await setupWorld();
const home = await world.tenant("home");

const healthz = (agent: string) => world.call("GET", "/api/v1/agent/healthz", { agent });
const rowOf = async (id: string) => (await world.db.select().from(agents).where(eq(agents.id, id)))[0]!;
const lookupOf = (token: string) =>
  createHmac("sha256", Buffer.from(TEST_KEYS.TOKEN_PEPPER, "base64")).update(token).digest("base64url");

const looksUp = (statement: string) => statement.includes('"agent_token_lookup" = ');
const scans = (statement: string) => statement.includes('"agent_token_lookup" is null');

/** Returns the hash of a token in the form that other programs store. Old programs pad the Base64. */
function stored(token: string, { iterations = 200_000, padded = false } = {}) {
  const salt = randomBytes(16);
  const hash = pbkdf2Sync(token, salt, iterations, 32, "sha256");
  const text = (bytes: Buffer) => bytes.toString("base64url") + (padded ? "=".repeat((3 - (bytes.length % 3)) % 3) : "");
  return `pbkdf2_sha256$${iterations}$${text(salt)}$${text(hash)}`;
}

let imported = 0;
/** Inserts a row as an import leaves it, with only the slow hash of its token. */
async function importAgent(agent_token_hash: string): Promise<string> {
  const number = ++imported;
  const [row] = await world.db
    .insert(agents)
    .values({
      gateway_id: home.gateway_id,
      board_id: home.board_id,
      name: `Imported ${number}`,
      agent_token_hash,
      status: "ready",
    })
    .returning();
  return row!.id;
}

test("a token is 43 opaque characters, stored in two forms that do not reveal it", async () => {
  const row = await rowOf(home.worker.id);
  expect(home.worker.token).toMatch(/^[A-Za-z0-9_-]{43}$/);
  expect(home.worker.token).not.toBe(home.lead.token);
  const [, salt = "", hash = ""] = /^pbkdf2_sha256\$200000\$([\w-]{22})\$([\w-]{43})$/.exec(row.agent_token_hash ?? "") ?? [];
  const derived = pbkdf2Sync(home.worker.token, Buffer.from(salt, "base64url"), 200_000, 32, "sha256");
  expect(derived.toString("base64url")).toBe(hash);
  expect(row.agent_token_lookup).toBe(lookupOf(home.worker.token));
  expect(Object.values(row).join("\n")).not.toContain(home.worker.token);
});

test("the service finds an agent by its token with one indexed look-up, without reading stored hashes", async () => {
  await healthz(home.worker.token);
  world.statements.length = 0;
  await healthz(home.worker.token);
  expect(world.statements.filter(looksUp)).toHaveLength(1);
  expect(world.statements.filter(scans)).toEqual([]);
});

test.each([[{}], [{ padded: true }], [{ iterations: 1_000 }]])(
  "an imported agent with the hash options %j authenticates by its old token and gets a digest",
  async (form) => {
    const token = randomBytes(24).toString("base64url");
    const id = await importAgent(stored(token, form));
    const before = await rowOf(id);
    expect([(await healthz(token)).status, (await rowOf(id)).agent_token_lookup]).toEqual([200, lookupOf(token)]);
    expect((await rowOf(id)).agent_token_hash).toBe(before.agent_token_hash);
    world.statements.length = 0;
    expect((await healthz(token)).body.agent_id).toBe(id);
    expect(world.statements.filter(scans)).toEqual([]);
  },
);

test("a malformed stored hash matches no token and affects no other agent", async () => {
  const { agent_token_hash: good } = await rowOf(home.lead.id);
  const [, , salt, hash] = good!.split("$");
  const malformedHashes = [
    "",
    "$$$",
    "plain",
    "pbkdf2_sha256$",
    "pbkdf2_sha256$200000$$",
    `pbkdf2_sha256$0$${salt}$${hash}`,
    `pbkdf2_sha256$-1$${salt}$${hash}`,
    `pbkdf2_sha256$9999999$${salt}$${hash}`,
    `pbkdf2_sha256$1e3$${salt}$${hash}`,
    `pbkdf2_sha256$1000$${salt}$`,
    `pbkdf2_sha256$1000$${salt}$AAAA`,
    `pbkdf2_sha256$1000$${salt}$${hash} `,
    `bcrypt$1000$${salt}$${hash}`,
    `pbkdf2_sha256$1000$\u0130\u00e9$${hash}`,
  ];
  const ids: string[] = [];
  for (const form of malformedHashes) ids.push(await importAgent(form));
  const token = "behind-the-malformed-ones";
  const id = await importAgent(stored(token, { iterations: 1_000 }));
  expect((await healthz("matches-nothing")).status).toBe(401);
  expect((await healthz(token)).body.agent_id).toBe(id);
  const rows = await world.db.select({ lookup: agents.agent_token_lookup }).from(agents).where(inArray(agents.id, ids));
  expect(rows.map((row) => row.lookup)).toEqual(malformedHashes.map(() => null));
});

test("an imported agent that is being deleted cannot authenticate", async () => {
  const token = "imported-while-deleting";
  const id = await importAgent(stored(token, { iterations: 1_000 }));
  await world.db.update(agents).set({ status: "deleting" }).where(eq(agents.id, id));
  expect((await healthz(token)).status).toBe(401);
});

test("concurrent first requests of an imported agent all authenticate", async () => {
  const token = "adopted-by-many";
  const id = await importAgent(stored(token, { iterations: 1_000 }));
  for (const answer of await Promise.all([1, 2, 3, 4].map(() => healthz(token))))
    expect(answer.body).toMatchObject({ agent_id: id });
});

test("a token digested with another pepper does not authenticate", async () => {
  const token = randomBytes(32).toString("base64url");
  const agent_token_lookup = createHmac("sha256", "another pepper").update(token).digest("base64url");
  const id = await importAgent(stored("another-token", { iterations: 1_000 }));
  await world.db.update(agents).set({ agent_token_lookup }).where(eq(agents.id, id));
  expect((await healthz(token)).status).toBe(401);
});

test("a new agent authenticates even if its first random token would begin like the token of a run", async () => {
  const { board_id, owner } = await world.tenant("like a run");
  const { randomBytes: real } = crypto;
  onTestFinished(() => replaceRandomBytes(real));
  let isFirst = true;
  replaceRandomBytes(((size: number) => {
    if (size !== 32 || !isFirst) return real(size);
    isFirst = false;
    return Buffer.from(`run_${"A".repeat(39)}`, "base64url");
  }) as typeof real);
  const created = await world.call("POST", "/api/v1/agents", { token: owner.token, body: { name: "Run", board_id } });
  expect([created.status, isFirst], created.text).toEqual([200, false]);
  expect((await healthz(created.body.auth_token)).status).toBe(200);
});

/** Replaces the function in all modules that import it. */
function replaceRandomBytes(randomBytes: typeof crypto.randomBytes): void {
  Object.assign(crypto, { randomBytes });
  syncBuiltinESMExports();
}
