import { expect, test } from "vitest";
import type { FakeGateway } from "../support/fake-gateway/server.ts";
import { connectClient, connectParams, openClient, startHost } from "./raw-client.ts";
import { DIALECTS } from "../support/dialects.ts";

test.each(DIALECTS)("the fake gateway %s sends a challenge first and accepts a signed backend", async (dialect) => {
  const gateway = await startHost({ dialect });
  const peer = await openClient(gateway);
  expect(await peer.next()).toMatchObject({ type: "event", event: "connect.challenge", payload: { nonce: expect.any(String) } });
  const { payload } = await peer.request("connect", connectParams({ nonce: peer.nonce() }));
  expect(payload).toMatchObject({ type: "hello-ok", protocol: dialect === "2026.9.6" ? 4 : 3, server: { version: dialect } });
  expect(await peer.next()).toMatchObject({ event: "health" });
});

test("the fake gateway requires connect as the first request and only once", async () => {
  const gateway = await startHost({});
  const unconnected = await openClient(gateway);
  expect((await unconnected.request("health", {})).error.message).toBe("invalid handshake: first request must be connect");
  expect(await unconnected.closed).toEqual({ code: 1008, reason: "invalid handshake: first request must be connect" });
  const peer = await connectClient(gateway);
  expect((await peer.request("connect", connectParams({}))).error.message).toBe("connect is only valid as the first request");
  expect((await peer.request("health", {})).ok).toBe(true);
});

test.each([
  ["a wrong token", { token: "other" }, "unauthorized: gateway token mismatch (provide gateway auth token)"],
  ["no token", { token: null }, "unauthorized: gateway token missing (provide gateway auth token)"],
  ["neither token nor device", { token: null, device: false }, "device identity required"],
  ["an unknown param", { extra: { deviceToken: "x" } }, "invalid connect params: at root: unexpected property 'deviceToken'"],
  ["the nonce of another challenge", { nonce: "other" }, "device nonce mismatch"],
  ["a signature over another token", { signed_token: "other" }, "device signature invalid"],
  ["an old signature", { signed_at: Date.now() - 180_000 }, "device signature expired"],
])("the fake gateway 2026.2.26 refuses %s with its own message, in the answer and in the close", async (_case, values, text) => {
  const gateway = await startHost({ dialect: "2026.2.26" });
  const peer = await openClient(gateway);
  await peer.next();
  const { error } = await peer.request("connect", connectParams({ nonce: peer.nonce(), ...values }));
  expect(error.message).toBe(text);
  expect(await peer.closed).toEqual({ code: 1008, reason: text });
});

test("the fake gateway 2026.2.9 accepts a three-minute-old signature without a nonce, and 2026.2.26 requires a nonce", async () => {
  const older = await openClient(await startHost({ dialect: "2026.2.9" }));
  expect((await older.request("connect", connectParams({ signed_at: Date.now() - 180_000 }))).ok).toBe(true);
  const newer = await openClient(await startHost({ dialect: "2026.2.26" }));
  expect((await newer.request("connect", connectParams({}))).error.message).toBe(
    "invalid connect params: at /device: must have required property 'nonce'",
  );
});

test.each([
  ["2026.2.9", 4, 4],
  ["2026.9.6", 3, 3],
] as const)(
  "the fake gateway %s closes with 1002 when only protocol %i is offered",
  async (dialect, minProtocol, maxProtocol) => {
    const peer = await openClient(await startHost({ dialect }));
    await peer.next();
    const { error } = await peer.request("connect", { ...connectParams({ nonce: peer.nonce() }), minProtocol, maxProtocol });
    expect(error.message).toBe("protocol mismatch");
    expect(await peer.closed).toEqual({ code: 1002, reason: "protocol mismatch" });
  },
);

test("the fake gateway keeps one pairing request for a remote device until an operator decides", async () => {
  const gateway = await startHost({ remote: true });
  const operator = await connectClient(gateway, { device: false });
  const ask = async () => {
    const peer = await openClient(gateway);
    await peer.next();
    return await peer.request("connect", connectParams({ nonce: peer.nonce() }));
  };
  const first = await ask();
  const { requestId } = first.error.details as { requestId: string };
  expect(first.error).toMatchObject({ code: "NOT_PAIRED", message: "pairing required" });
  expect((await ask()).error.details).toEqual({ requestId });
  expect((await operator.request("device.pair.list", {})).payload).toMatchObject({ pending: [{ requestId }], paired: [] });
  expect((await operator.request("device.pair.approve", { requestId })).ok).toBe(true);
  expect((await operator.request("device.pair.reject", { requestId })).error.message).toBe("unknown requestId");
  expect((await ask()).ok).toBe(true);
});

test("the fake gateway accepts a control UI without a device only with its flag and origin, on releases that have the flag", async () => {
  const ui = {
    ...connectParams({ device: false }),
    client: { id: "openclaw-control-ui", version: "1.0.0", platform: "linux", mode: "ui" },
  };
  const answer = async (gateway: FakeGateway, origin?: string) => (await openClient(gateway, origin)).request("connect", ui);
  const flagged = await startHost({ allow_insecure_control_ui: true });
  expect((await answer(flagged, flagged.url.replace("ws:", "http:"))).ok).toBe(true);
  expect((await answer(flagged)).error.message).toContain("origin not allowed");
  expect((await answer(flagged, "http://elsewhere.example")).error.message).toContain("origin not allowed");
  const plain = await startHost({});
  expect((await answer(plain, "http://localhost:3000")).error.message).toBe(
    "control ui requires HTTPS or localhost (secure context)",
  );
  const latest = await startHost({ dialect: "2026.9.6", allow_insecure_control_ui: true });
  expect((await answer(latest, "http://localhost")).error.message).toContain("control ui requires device identity");
});

test("the fake gateway checks scopes before methods, so only admins learn that a method is unknown", async () => {
  const gateway = await startHost({ dialect: "2026.2.9" });
  const reader = await connectClient(gateway, { device: false, scopes: ["operator.read"] });
  expect((await reader.request("agents.list", {})).ok).toBe(true);
  expect((await reader.request("config.get", {})).error.message).toBe("missing scope: operator.admin");
  expect((await reader.request("chat.send", {})).error.message).toBe("missing scope: operator.write");
  expect((await reader.request("nope.method", {})).error.message).toBe("missing scope: operator.admin");
  const admin = await connectClient(gateway);
  expect((await admin.request("agents.files.delete", {})).error.message).toBe("unknown method: agents.files.delete");
});

test("an empty list of scopes allows sessions.list on the fake gateway 2026.2.9 only, and 2026.9.6 answers FORBIDDEN", async () => {
  const answers = await Promise.all(
    DIALECTS.map(async (dialect) => {
      const peer = await connectClient(await startHost({ dialect }), { device: false, scopes: [] });
      expect((await peer.request("health", {})).ok).toBe(true);
      return (await peer.request("sessions.list", {})).error?.code ?? "ok";
    }),
  );
  expect(answers).toEqual(["ok", "INVALID_REQUEST", "INVALID_REQUEST", "FORBIDDEN"]);
});
