import { expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";
import { createWorld } from "../support/world.ts";

const world = await setupWorld();
const home = await world.tenant("home");

const sign = (claims: Record<string, unknown>) => world.identities.token("claimant", claims);
const emailIn = async (claims: Record<string, unknown>) =>
  (await world.call("GET", "/api/v1/users/me", { token: await sign(claims) })).body.email;
const entry = (email_address: string, more: object = {}) => ({ email_address, ...more });
const unsaid = { email_verified: undefined };
const listed = (...email_addresses: unknown[]) => ({ email: undefined, email_addresses, ...unsaid });

test.each<[string, Record<string, unknown>]>([
  ["no claim says that it is verified", unsaid],
  [
    "no claim says that it is verified and it is in email_address",
    { email: undefined, email_address: "a@example.com", ...unsaid },
  ],
  [
    "no claim says that it is verified and it is in primary_email_address",
    { email: undefined, primary_email_address: "a@b.c", ...unsaid },
  ],
  ["email_verified is null", { email_verified: null }],
  ["its entry in email_addresses is a text", listed("a@example.com")],
  ["its entry in email_addresses does not say that it is verified", listed(entry("a@example.com", { primary: true }))],
  ["email_verified is true, which is not about entries of email_addresses", { ...listed("a@example.com"), email_verified: true }],
  ["email_verified is false", { email_verified: false }],
  ["email_verified is the text false", { email_verified: " False " }],
  [
    "email_verified is false and the address is in email_address",
    { email: undefined, email_address: "a@example.com", email_verified: false },
  ],
  ["email_verified is false and the address is in email_addresses", { ...listed(entry("a@example.com")), email_verified: false }],
  ["its entry in email_addresses is not verified", listed(entry("a@example.com", { verified: false }))],
  [
    "its entry in email_addresses has an open verification",
    listed(entry("a@example.com", { verification: { status: "unverified" } })),
  ],
])("an e-mail address is not trusted when %s", async (what, claims) => {
  expect(await emailIn({ sub: `denied ${what}`, ...claims })).toBeNull();
});

test.each<[string, Record<string, unknown>, string]>([
  ["email_verified is true", { email: "a@example.com", email_verified: true }, "a@example.com"],
  ["email_verified is the text true", { email: "a@example.com", email_verified: "true" }, "a@example.com"],
  ["its entry in email_addresses is verified", listed(entry("a@example.com", { verified: true })), "a@example.com"],
  [
    "it is the verified one of several",
    listed(
      entry("a@example.com", { primary: true, verified: false }),
      entry("b@example.com", { verification: { status: "verified" } }),
    ),
    "b@example.com",
  ],
])("an e-mail address is trusted when %s", async (what, claims, email) => {
  expect(await emailIn({ sub: `believed ${what}`, ...claims })).toBe(email);
});

test("an address that the provider no longer calls verified is removed from the user", async () => {
  expect(await emailIn({ sub: "changing", email: "old@example.com" })).toBe("old@example.com");
  expect(await emailIn({ sub: "changing", email: "new@example.com", email_verified: false })).toBeNull();
  expect(await emailIn({ sub: "changing", email: "new@example.com", email_verified: true })).toBe("new@example.com");
});

test("an unverified address cannot accept an invite, even when an earlier token had stored it", async () => {
  const invited_email = "invited@example.com";
  const body = { invited_email };
  const { token } = (await world.call("POST", "/organizations/me/invites", { token: home.owner.token, body })).body;
  const accept = async (claims: Record<string, unknown>) => {
    const caller = await sign({ sub: "stranger", email: invited_email, ...claims });
    return world.call("POST", "/organizations/invites/accept", { token: caller, body: { token } });
  };
  await emailIn({ sub: "stranger", email: invited_email });
  for (const email_verified of [false, "false", undefined]) {
    const refused = await accept({ email_verified });
    expect([refused.status, refused.body]).toEqual([403, { detail: "Invite is for another email" }]);
  }
  expect((await accept({ email_verified: true })).status).toBe(200);
});

test("with OIDC_REQUIRE_VERIFIED_EMAIL=off an e-mail address is trusted unless a claim says that it is not verified", async () => {
  const trusting = await createWorld({ environment: { OIDC_REQUIRE_VERIFIED_EMAIL: "off" } });
  try {
    const emailOf = async (claims: Record<string, unknown>) => {
      const token = await trusting.identities.token("claimant", claims);
      return (await trusting.call("GET", "/api/v1/users/me", { token })).body.email;
    };
    expect(await emailOf({ sub: "one", email: "a@example.com", ...unsaid })).toBe("a@example.com");
    expect(await emailOf({ sub: "two", ...listed("b@example.com") })).toBe("b@example.com");
    expect(await emailOf({ sub: "three", email_verified: false })).toBeNull();
  } finally {
    await trusting.close();
  }
});

test("the log names the setting, once, for an issuer whose tokens do not say that addresses are verified", async () => {
  const silent = await createWorld();
  try {
    for (const sub of ["one", "two"])
      await silent.call("GET", "/api/v1/users/me", { token: await silent.identities.token(sub, unsaid) });
    const found = silent.log.filter(({ event }) => event === "auth.email_unverified");
    expect(found).toMatchObject([{ level: "warn", message: expect.stringContaining("OIDC_REQUIRE_VERIFIED_EMAIL") }]);
    expect(JSON.stringify(found)).not.toContain("example.com");
  } finally {
    await silent.close();
  }
});
