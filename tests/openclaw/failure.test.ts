import { expect, test } from "vitest";
import type { GatewayFailure } from "../../packages/openclaw/src/wire/gateway-error.ts";
import { GatewayError } from "../../packages/openclaw/src/wire/gateway-error.ts";
import {
  isExistingEntry,
  isMissingAgent,
  isMissingSession,
  isProtocolMismatch,
  toGatewayMessage,
} from "../../packages/openclaw/src/wire/failure.ts";
import { isTransient } from "../../packages/openclaw/src/wire/gateway-error.ts";
import { INTERACTIVE_RETRY, SYNC_RETRY, withRetry } from "../../packages/openclaw/src/wire/retry.ts";

const failed = (message: string, failure?: GatewayFailure) => new GatewayError(message, failure);

test("the error names a missing scope, gives a hint for other authentication failures, and otherwise repeats the host's text", () => {
  expect(toGatewayMessage(failed("missing scope: operator.read"))).toContain("missing required scope `operator.read`");
  const hint = toGatewayMessage(failed(" \n "));
  expect(hint).toContain("authentication");
  expect(toGatewayMessage(failed("Unauthorized: gateway token mismatch"))).toBe(hint);
  expect(toGatewayMessage(failed("403 FORBIDDEN"))).toBe(hint);
  expect(toGatewayMessage(failed('unsupported file "ROLES.md"'))).toBe('unsupported file "ROLES.md"');
  expect(toGatewayMessage(failed("line\none\u0000\u001b[31m\u009f"))).toBe("line one[31m");
  expect(toGatewayMessage(failed("x".repeat(600)))).toHaveLength(500);
});

test.each<[string, GatewayFailure]>([
  ["busy", { code: "UNAVAILABLE" }],
  ["anything", { code: "ODD", retryable: true }],
  ["later", { code: "ODD", retry_after_ms: 0 }],
  ...[1001, 1006, 1011, 1012, 1013].map((close_code): [string, GatewayFailure] => ["closed", { close_code }]),
  ...[502, 503, 504].map((http_status): [string, GatewayFailure] => ["refused", { http_status }]),
  ...["ECONNREFUSED", "ECONNRESET", "EHOSTUNREACH", "ENETUNREACH", "ENOTFOUND", "EAI_AGAIN", "HPE_INVALID_CONSTANT"].map(
    (system_code): [string, GatewayFailure] => ["failed", { system_code }],
  ),
  ["no answer", { timed_out: true }],
  ["received 1012 (service restart)", {}],
  ["server rejected WebSocket connection: HTTP 503", {}],
  ["Temporary failure in name resolution", {}],
  ["timed out during opening handshake", {}],
])("the failure %s %j is transient", (message, failure) => {
  expect(isTransient(failed(message, failure))).toBe(true);
});

test.each<[string, GatewayFailure]>([
  ["connection refused", { code: "INVALID_REQUEST" }],
  ["service restart", { code: "UNAVAILABLE", retryable: false }],
  ['unsupported file "TOOLS.md"', { code: "UNAVAILABLE" }],
  ["the model's timeout is over", { code: "AGENT_TIMEOUT" }],
  ["Gateway connection closed: 1008 pairing required", { close_code: 1008 }],
  ["Gateway did not accept the connection: HTTP 404", { http_status: 404 }],
  ["certificate has expired", { system_code: "CERT_HAS_EXPIRED" }],
  ["Gateway host is not allowed.", { refused_address: true }],
  ["agent not found", {}],
])("the failure %s %j is permanent", (message, failure) => {
  expect(isTransient(failed(message, failure))).toBe(false);
});

test("only failures of a gateway are retried", () => {
  expect(isTransient(new TypeError("connection refused"))).toBe(false);
});

test("error texts for a missing agent, a missing session and an existing entry are distinguished", () => {
  const texts = [
    "unknown agent id",
    "no such agent",
    "agent does not exist",
    'Agent "x" no longer exists in configuration',
    'agent "x" not found',
  ];
  for (const text of texts) expect(isMissingAgent(failed(text))).toBe(true);
  for (const text of ["session not found", "unknown session", "no such session", "session does not exist"]) {
    expect(isMissingSession(failed(text))).toBe(true);
    expect(isMissingAgent(failed(text))).toBe(false);
  }
  expect(isExistingEntry(failed('agent "mc-a" already exists'))).toBe(true);
  expect(isExistingEntry(failed("taken", { code: "conflict" }))).toBe(true);
  expect(isExistingEntry(failed('agent "mc-a" does not exist', { code: "CONFLICT" }))).toBe(false);
  expect(isProtocolMismatch(failed("protocol mismatch"))).toBe(true);
  expect(isProtocolMismatch(failed("pairing required", { close_code: 1008 }))).toBe(false);
});

test("a call is retried with doubling delays up to the maximum, until it succeeds", async () => {
  const run = clock();
  expect(await withRetry(INTERACTIVE_RETRY, run.failingUntil(6), run.options)).toBe("done");
  expect(run.slept).toEqual([500, 1000, 2000, 4000, 5000, 5000]);
});

test("the jitter of the policy spreads delays in both directions", async () => {
  for (const [random, first] of [
    [0, 600],
    [1, 900],
  ] as const) {
    const run = clock();
    await withRetry(SYNC_RETRY, run.failingUntil(1), { ...run.options, random: () => random });
    expect(run.slept).toEqual([first]);
  }
});

test("the delay requested by the host applies when it is longer, but never exceeds the remaining time", async () => {
  const run = clock();
  const busy = failed("rate limit exceeded", { code: "UNAVAILABLE", retry_after_ms: 30_000 });
  await expect(withRetry(INTERACTIVE_RETRY, run.failingUntil(9, busy), run.options)).rejects.toThrow("rate limit exceeded");
  expect(run.slept).toEqual([30_000, 15_000]);
});

test("the error after the retry budget contains the time, the step and the last error", async () => {
  const run = clock();
  const error = await withRetry(INTERACTIVE_RETRY, run.failingUntil(99), { ...run.options, step: "chat.send" }).catch(
    (reason: unknown) => reason,
  );
  expect(error).toMatchObject({
    message: "Gateway unreachable for 45 s during chat.send. Last error: gone",
    failure: { close_code: 1006 },
  });
});

test("a permanent failure is not retried, and an abort signal ends the wait", async () => {
  const run = clock();
  await expect(withRetry(SYNC_RETRY, run.failingUntil(9, failed("no")), run.options)).rejects.toThrow("no");
  expect(run.slept).toEqual([]);
  const stopping = new AbortController();
  const waiting = withRetry(SYNC_RETRY, run.failingUntil(9), { signal: stopping.signal });
  stopping.abort();
  await expect(waiting).rejects.toThrow("aborted");
});

/** Creates a clock that advances only by sleeping, and work that fails a given number of times before it succeeds. */
function clock() {
  let time = 0;
  const slept: number[] = [];
  return {
    slept,
    options: {
      now: () => time,
      random: () => 0.5,
      sleep: async (ms: number) => {
        slept.push(ms);
        time += ms;
      },
    },
    failingUntil(times: number, error = failed("gone", { close_code: 1006 })) {
      let calls = 0;
      return async () => {
        calls += 1;
        if (calls <= times) throw error;
        return "done";
      };
    },
  };
}
