import { randomBytes } from "node:crypto";
import { mintKey } from "@board/core/key/token";
import { rateLimit, user } from "@board/accounts/tables.sql";
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { type AccountsWorld, type Browser, PASSWORD, setupAccounts } from "../../accounts/support.ts";

const GUESSES = Number(process.env["GUESSES"] ?? 100_000);
const HOUR_MS = 3_600_000;

/** How many addresses the guesser uses. Some limits count attempts per address, and others count them per account. */
const ADDRESSES = 8;
/** After this many guesses, people who are not the target of the guesses sign in and work, to show that nothing disturbs them. */
const LOOK_EVERY = 500;
const ALPHABET = "BCDFGHJKLMNPQRSTVWXZ";

const random = () => randomBytes(32).toString("base64url");
const userCode = () => Array.from(randomBytes(8), (byte) => ALPHABET[byte % ALPHABET.length]).join("");

interface Guesses {
  /** How many guesses got each answer. */
  statuses: Record<string, number>;
  /** How often other people signed in and worked meanwhile. */
  looks: number;
}

/**
 * Guesses passwords, links, codes, keys and tokens from many addresses while other people sign in and work. Throws if a guess
 * is right, if the service fails, or if other people are disturbed.
 */
async function guess(accounts: AccountsWorld, count: number): Promise<Guesses> {
  const { world, openBrowser, openOwner, invite, joinBy, signIn, signInByLink, openMachine } = accounts;
  const owner = await openOwner();
  const join = async (name: string) => (await joinBy(await invite(owner, `${name}@example.com`), name)).browser;
  const target = await join("target");
  await join("neighbour");
  const guesser = await join("guesser");
  const board = await owner.send("POST", "/api/v1/boards", { name: "Shop", description: "A board", gateway: "pull" });
  const path = `/api/v1/boards/${board.body.id}/tasks`;
  const key = (await owner.send("POST", "/api/v1/keys", { name: "Script", access: "read" })).body.key as string;

  const browsers = Array.from({ length: ADDRESSES }, (_, number) => openBrowser(`10.7.0.${number + 1}`));
  /** The guesser has a session too, because only signed-in people may ask about the code of a device. */
  const signedIn = browsers.map((browser): Browser => ({ ...browser, send: withCookie(browser, guesser.cookie) }));
  const machine = openMachine();
  const bearer = (browser: Browser, token: string) => browser.send("GET", path, undefined, { authorization: `Bearer ${token}` });
  const post = (browser: Browser, at: string, body: object) => browser.send("POST", `/api/auth${at}`, body);
  const KINDS: ((browser: Browser, number: number) => Promise<{ status: number }>)[] = [
    (browser) => post(browser, "/sign-in/email", { email: "target@example.com", password: random() }),
    (browser) => post(browser, "/sign-in/email", { email: `${random()}@example.com`, password: random() }),
    (browser) => post(browser, "/sign-in/link", { token: random() }),
    (browser) => post(browser, "/sign-up/invite", { token: random(), name: "Guesser" }),
    (_browser, number) => signedIn[number % ADDRESSES]!.send("GET", `/api/auth/device?user_code=${userCode()}`),
    (browser) => post(browser, "/device/token", { ...DEVICE, device_code: random() }),
    () => {
      const body = new URLSearchParams({ grant_type: "authorization_code", code: random(), client_id: "board" });
      return machine(new URL("/api/auth/oauth2/token", accounts.origin), { method: "POST", body });
    },
    (browser) => bearer(browser, mintKey()),
    (browser) => bearer(browser, random()),
    (browser) => bearer(browser, `bs_${random()}.${random()}`),
    (browser) => bearer(browser, `bt_${random()}`),
  ];

  async function look(): Promise<void> {
    const answers = [
      await target.send("GET", path),
      await signIn("neighbour@example.com", PASSWORD),
      await owner.send("GET", path),
      await openBrowser().send("GET", path, undefined, { authorization: `Bearer ${key}` }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  }

  const statuses: Record<string, number> = {};
  let looks = 0;
  for (let number = 0; number < count; number++) {
    const { status } = await KINDS[number % KINDS.length]!(browsers[number % ADDRESSES]!, number);
    statuses[status] = (statuses[status] ?? 0) + 1;
    if (number % LOOK_EVERY !== 0) continue;
    await look();
    looks += 1;
  }
  expect(Object.keys(statuses).filter((status) => !["400", "401", "404", "429"].includes(status))).toEqual([]);
  // The guesses block only the sign-in by password. A link still signs the person in, and after a minute the password does too.
  const link = await accounts.accounts.createLink(await idOf(accounts, "target@example.com"));
  expect((await signInByLink(link)).answer.status).toBe(200);
  world.elapse(60_000);
  expect((await signIn("target@example.com", PASSWORD)).status).toBe(200);
  await look();
  // Guesses leave no more than a counter for each address and path.
  expect(await world.db.$count(rateLimit)).toBeLessThan((ADDRESSES + 250) * KINDS.length);
  return { statuses, looks };
}

const DEVICE = { grant_type: "urn:ietf:params:oauth:grant-type:device_code", client_id: "board" };

const withCookie =
  (browser: Browser, cookie: string): Browser["send"] =>
  (method, path, body, headers = {}) =>
    browser.send(method, path, body, { ...headers, cookie });

async function idOf({ world }: AccountsWorld, email: string): Promise<string> {
  const [row] = await world.db.select({ id: user.id }).from(user).where(eq(user.email, email));
  return row!.id;
}

const accounts = await setupAccounts({ environment: { BASE_URL: "http://board.test" } });

test(
  `${GUESSES} guesses of passwords, links, codes and keys are never right, disturb nobody, and lock nobody out`,
  async ({ task }) => {
    const { statuses, looks } = await guess(accounts, GUESSES);
    task.meta.summary = { guesses: GUESSES, signed_in_meanwhile: looks, ...statuses };
    expect(statuses["429"]).toBeGreaterThan(0);
  },
  HOUR_MS,
);
