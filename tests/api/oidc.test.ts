import { createHmac, createPublicKey, type JsonWebKey } from "node:crypto";
import { users } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { generateKeyPair, SignJWT } from "jose";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { setupWorld } from "../support/fixtures.ts";
import { createWorld, type World } from "../support/world.ts";

const world = await setupWorld();

const now = () => Math.floor(Date.now() / 1000);
const me = (token: string) => world.call("GET", "/api/v1/users/me", { token });
const claims = (changed: Record<string, unknown>) => world.identities.token("claimant", changed);
const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url");

/** Returns the parts of a valid token. */
async function parts() {
  const [header = "", payload = "", signature = ""] = (await world.identities.token("victim")).split(".");
  return {
    header,
    payload,
    signature,
    body: JSON.parse(Buffer.from(payload, "base64url").toString()) as Record<string, unknown>,
  };
}

async function hs256(secret: string | Buffer) {
  const { payload } = await parts();
  const signed = `${encode({ alg: "HS256", kid: "test" })}.${payload}`;
  return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
}

const publicPem = () =>
  createPublicKey({ key: world.identities.public_key as JsonWebKey, format: "jwk" }).export({ type: "spki", format: "pem" });

test("a token that the issuer signed signs in the person whom its subject names", async () => {
  const answer = await me(await world.identities.token("somebody"));
  expect(answer.body).toMatchObject({
    clerk_user_id: "somebody",
    email: "somebody@example.com",
    name: "somebody",
    is_super_admin: false,
  });
});

test.each<[string, () => Promise<string>]>([
  ["of another issuer", () => claims({ iss: "http://127.0.0.1:1/" })],
  ["of the issuer without its final slash", () => claims({ iss: world.identities.issuer.slice(0, -1) })],
  ["without an issuer", () => claims({ iss: undefined })],
  ["that has expired", () => claims({ exp: now() - 60 })],
  ["that is not valid yet", () => claims({ nbf: now() + 60 })],
  ["without a subject", () => claims({ sub: undefined })],
  ["with an empty subject", () => claims({ sub: "" })],
  ["with a blank subject", () => claims({ sub: "  " })],
  ["with a subject that is not text", () => claims({ sub: 7 })],
  ["without a signature, alg none", async () => `${encode({ alg: "none" })}.${(await parts()).payload}.`],
  ["without a signature", async () => `${(await parts()).header}.${(await parts()).payload}.`],
  ["signed with the public key as an HS256 secret, as PEM", () => hs256(publicPem())],
  ["signed with the public key as an HS256 secret, as JWK", () => hs256(JSON.stringify(world.identities.public_key))],
  [
    "signed with the public key as an HS256 secret, as bytes",
    () => hs256(Buffer.from(world.identities.public_key.x!, "base64url")),
  ],
  [
    "signed with another key under the known id",
    async () => {
      const { privateKey } = await generateKeyPair("ES256");
      return new SignJWT((await parts()).body).setProtectedHeader({ alg: "ES256", kid: "test" }).sign(privateKey);
    },
  ],
  [
    "of an unknown key id",
    async () => {
      const { privateKey } = await generateKeyPair("ES256");
      return new SignJWT((await parts()).body).setProtectedHeader({ alg: "ES256", kid: "unknown" }).sign(privateKey);
    },
  ],
  [
    "whose claims were changed after signing",
    async () => {
      const { header, body, signature } = await parts();
      return `${header}.${encode({ ...body, sub: "admin" })}.${signature}`;
    },
  ],
  ["that is not a JWT", async () => "not-a-token"],
  ["that only looks like a JWT", async () => "a.b.c"],
])("a token %s is refused", async (_what, make) => {
  const lines = world.log.length;
  const answer = await me(await make());
  expect([answer.status, answer.body]).toEqual([401, { detail: "Not authenticated" }]);
  expect(world.log.slice(lines).filter((line) => line.level === "error")).toEqual([]);
});

test("a token is accepted although the clocks of issuer and service differ by a few seconds", async () => {
  expect((await me(await claims({ exp: now() - 3 }))).status).toBe(200);
  expect((await me(await claims({ nbf: now() + 5 }))).status).toBe(200);
});

test.each([
  ["email", { email: " Ann@Example.COM ", email_address: "other@example.com" }, "ann@example.com"],
  [
    "email_address",
    { email: undefined, email_address: "Ann@example.com", primary_email_address: "other@example.com" },
    "ann@example.com",
  ],
  ["primary_email_address", { email: " ", primary_email_address: "ann@example.com" }, "ann@example.com"],
  [
    "the primary of email_addresses",
    {
      email: null,
      email_addresses: [
        { email_address: "other@example.com", verified: true },
        { email_address: "Ann@example.com", primary: true, verified: true },
      ],
    },
    "ann@example.com",
  ],
  [
    "the first of email_addresses",
    { email: undefined, email_addresses: [{ email_address: "ann@example.com", verified: true }, {}] },
    "ann@example.com",
  ],
  ["none when no claim holds one", { email: undefined, email_addresses: [null, 5, { email_address: 7 }] }, null],
])("the e-mail address is read from the claims: %s", async (what, changed, email) => {
  expect((await me(await claims({ sub: `email ${what}`, ...changed }))).body.email).toBe(email);
});

test.each([
  ["name", { name: " Ann Lee ", full_name: "Other" }, "Ann Lee"],
  ["full_name", { name: undefined, full_name: "Ann Lee", given_name: "Other" }, "Ann Lee"],
  ["given and family name", { name: "", given_name: "Ann", family_name: "Lee" }, "Ann Lee"],
  ["the given name alone", { name: undefined, given_name: "Ann" }, "Ann"],
  ["none when no claim holds one", { name: 5 }, null],
])("the name is read from the claims: %s", async (what, changed, name) => {
  expect((await me(await claims({ sub: `name ${what}`, ...changed }))).body.name).toBe(name);
});

test("a changed e-mail claim updates the user, and a name claim is used only if the user has no name", async () => {
  const sign = (changed: object) => claims({ sub: "follower", ...changed });
  expect((await me(await sign({ email: "one@example.com", name: undefined }))).body).toMatchObject({
    email: "one@example.com",
    name: null,
  });
  expect((await me(await sign({ email: "two@example.com", name: "First" }))).body).toMatchObject({
    email: "two@example.com",
    name: "First",
  });
  expect((await me(await sign({ email: undefined, name: "Second" }))).body).toMatchObject({
    email: "two@example.com",
    name: "First",
  });
});

test("similar subjects are different people", async () => {
  const ids: string[] = [];
  for (const sub of ["twin", "Twin", " twin", "twin ", `${"s".repeat(400)}a`, `${"s".repeat(400)}b`]) {
    const answer = await me(await claims({ sub }));
    if (answer.status === 200) ids.push(answer.body.id);
  }
  expect(ids.length).toBeGreaterThan(1);
  expect(new Set(ids).size).toBe(ids.length);
});

test("accounts with the same e-mail address are never merged", async () => {
  const first = (await me(await claims({ sub: "first", email: "shared@example.com" }))).body;
  const second = (await me(await claims({ sub: "second", email: "shared@example.com" }))).body;
  expect(second.id).not.toBe(first.id);
  expect(await world.db.select().from(users).where(eq(users.email, "shared@example.com"))).toHaveLength(2);
});

describe("OIDC_AUDIENCE and OIDC_AUTHORIZED_PARTIES", () => {
  let strict: World;

  beforeAll(async () => {
    strict = await createWorld({ environment: { OIDC_AUDIENCE: "board", OIDC_AUTHORIZED_PARTIES: "web, cli" } });
  });
  afterAll(() => strict.close());

  test.each([
    [{ aud: "board", azp: "web" }, 200],
    [{ aud: ["other", "board"], azp: "cli" }, 200],
    [{ aud: undefined, azp: "web" }, 401],
    [{ aud: "other", azp: "web" }, 401],
    [{ aud: "board", azp: "other" }, 401],
    [{ aud: "board" }, 401],
    [{ aud: "board", azp: ["web"] }, 401],
  ])("a token with the claims %j is answered with %i", async (changed, status) => {
    const token = await strict.identities.token("somebody", changed);
    expect((await strict.call("GET", "/api/v1/users/me", { token })).status).toBe(status);
  });
});

test("a start warns when any token of the issuer is accepted, since neither audience nor parties are set", async () => {
  const warnings = async (environment: Record<string, string>) => {
    const started = await createWorld({ environment });
    await started.close();
    return started.log.filter(({ event }) => event === "settings.oidc_audience_unset").map(({ level }) => level);
  };
  expect(await warnings({ OIDC_AUDIENCE: "" })).toEqual(["warn"]);
  expect(await warnings({ OIDC_AUDIENCE: "board" })).toEqual([]);
  expect(await warnings({ OIDC_AUDIENCE: "", OIDC_AUTHORIZED_PARTIES: "web" })).toEqual([]);
  expect(await warnings({ AUTH_MODE: "local", LOCAL_AUTH_TOKEN: "x".repeat(60) })).toEqual([]);
});

describe("a change of the issuer's keys", () => {
  afterEach(() => vi.useRealTimers());

  test("a new key is found with one fetch, and unknown key ids cause at most one fetch in 30 seconds", async () => {
    const own = await createWorld();
    const { identities } = own;
    const status = async (token: string) => (await own.call("GET", "/api/v1/users/me", { token })).status;
    const before = await identities.token("somebody");
    expect([await status(before), await status(before), identities.reads]).toEqual([200, 200, 1]);

    await identities.rotate("second");
    const after = await identities.token("somebody");
    expect([await status(after), await status(after), identities.reads]).toEqual([401, 401, 1]);

    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 31_000 });
    expect([await status(after), await status(after), identities.reads]).toEqual([200, 200, 2]);
    await own.close();
  });
});
