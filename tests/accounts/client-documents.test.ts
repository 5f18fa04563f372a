import type { HttpClient } from "@board/core/context/http-client";
import { expect, test, vi } from "vitest";
import { documentsOf } from "./program.ts";
import { type Browser, setupAccounts } from "./support.ts";

const ORIGIN = "https://board.example";
const HANGING = "hanging";
const documentOf = (host: string) => `https://${host}.example/oauth.json`;
const redirectOf = (host: string) => `https://${host}.example/callback`;

/** The URLs that the service has asked for and that have not answered, with functions that let them answer. */
const hanging = new Map<string, () => void>();
const web: HttpClient = {
  ...documentsOf({}),
  async get(url, limits) {
    const host = new URL(url).hostname.split(".")[0]!;
    if (host.startsWith(HANGING)) await new Promise<void>((resolve) => hanging.set(url, resolve));
    const document = { client_id: url, client_name: host, redirect_uris: [redirectOf(host)] };
    return documentsOf(host.startsWith("missing") ? {} : { [url]: document }).get(url, limits);
  },
};
const started = new Date();
const { world, openBrowser } = await setupAccounts({
  environment: { BASE_URL: ORIGIN },
  clock: () => started,
  web,
});

/** Opens the page of a program in a browser. The status is 302 if the person may decide about the program. */
async function open(browser: Browser, host: string) {
  const query = new URLSearchParams({
    client_id: documentOf(host),
    redirect_uri: redirectOf(host),
    response_type: "code",
    scope: "read",
    state: "x",
    code_challenge: "x".repeat(43),
    code_challenge_method: "S256",
  });
  const answer = await browser.send("GET", `/api/auth/oauth2/authorize?${query}`);
  return { ...answer, isAsked: answer.headers.get("location")?.startsWith("/#connect?") ?? false };
}

test("one address can make the service wait for only two metadata documents at a time, and other addresses are not affected", async () => {
  const [hostile, other] = [openBrowser(), openBrowser()];
  const waiting = [1, 2].map((count) => open(hostile, `${HANGING}-${count}`));
  await vi.waitUntil(() => hanging.size === 2, { timeout: 30_000 });
  const refused = await open(hostile, "third");
  expect([refused.status, refused.headers.get("retry-after"), refused.body.error]).toEqual([
    429,
    "60",
    "temporarily_unavailable",
  ]);
  expect((await open(other, "honest")).isAsked).toBe(true);
  expect((await open(hostile, "honest")).isAsked).toBe(true);
  for (const answer of hanging.values()) answer();
  expect((await Promise.all(waiting)).map(({ isAsked }) => isAsked)).toEqual([true, true]);
  expect((await open(hostile, "third")).isAsked).toBe(true);
});

test("one address can make the service fetch ten documents a minute, whether or not there is a document", async () => {
  world.elapse(60_000);
  const hostile = openBrowser();
  for (let count = 0; count < 10; count++) expect((await open(hostile, `missing-${count}`)).isAsked).toBe(false);
  expect((await open(hostile, "eleventh")).status).toBe(429);
  expect((await open(openBrowser(), "eleventh")).isAsked).toBe(true);
  world.elapse(60_000);
  expect((await open(hostile, "twelfth")).isAsked).toBe(true);
});
