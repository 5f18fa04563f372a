/** Attacks by requests whose work or answer is large. */
import type { Attacker } from "../attacker.ts";
import type { AttackPlan } from "./all.ts";

const MAX_TEXT = 100_000;
const PAYLOADS = 50;
const PAYLOAD_BYTES = 1_000_000;
const HUGE_TASKS = 200;
const FAR = 1_000_000_000;

const board = (a: Attacker) => `/api/v1/boards/${a.own.board_id}`;

/** Runs `work` a number of times, a few at once. */
async function times(count: number, work: (n: number) => Promise<unknown>): Promise<void> {
  const numbers = Array.from({ length: count }, (_, n) => n).values();
  await Promise.all(
    Array.from({ length: 4 }, async () => {
      for (const n of numbers) await work(n);
    }),
  );
}

/** Stores as many payloads as one webhook accepts, and returns the path of the list. */
export async function storePayloads(a: Attacker): Promise<string> {
  const path = a.own.open_path;
  const raw = JSON.stringify({ text: "p".repeat(PAYLOAD_BYTES) });
  await times(PAYLOADS, () => a.call("POST", path, { raw, anonymous: true }));
  return `${path}/payloads?limit=200`;
}

export const requestAttacks: Readonly<Record<string, AttackPlan>> = {
  "lists of 50 payloads of 1 MB": {
    seconds: 8,
    async run(a) {
      const path = await storePayloads(a);
      await a.forever(8, () => a.call("GET", path));
    },
  },
  "snapshots of a board of 200 tasks of 100 KB": {
    seconds: 8,
    async run(a) {
      const description = "d".repeat(MAX_TEXT);
      await times(HUGE_TASKS, (n) => a.call("POST", `${board(a)}/tasks`, { body: { title: `Task ${n}`, description } }));
      await times(HUGE_TASKS / 2, () => a.call("POST", `${board(a)}/memory`, { body: { content: description, tags: ["chat"] } }));
      await a.forever(8, (n) => a.call("GET", `${board(a)}/${["snapshot", "tasks?limit=200", "memory?limit=200"][n % 3]}`));
    },
  },
  "an onboarding without end": {
    async run(a) {
      await a.call("POST", `${board(a)}/onboarding/start`, { body: {} });
      const answer = "a".repeat(MAX_TEXT);
      await a.forever(4, (n) =>
        n % 2 === 0
          ? a.call("POST", `${board(a)}/onboarding/answer`, { body: { answer, other_text: answer } })
          : a.call("GET", `${board(a)}/onboarding`),
      );
    },
  },
  "lists at offset 1,000,000,000 with 200 filters": {
    async run(a) {
      await times(HUGE_TASKS, (n) => a.call("POST", `${board(a)}/tasks`, { body: { title: `Task ${n}` } }));
      const filters = Array.from({ length: 200 }, () => "status=inbox&unassigned=true").join("&");
      const statuses = `status=${"inbox,".repeat(500)}done`;
      const paths = [
        `${board(a)}/tasks?offset=${FAR}&limit=200&${filters}`,
        `${board(a)}/tasks?offset=${FAR}&${statuses}`,
        `/api/v1/boards?page=${FAR}&limit=200`,
        `/api/v1/activity?offset=${FAR}&limit=200`,
        `/api/v1/activity/task-comments?offset=${FAR}&limit=200`,
        `${board(a)}/memory?offset=${FAR}`,
        `/api/v1/souls-directory/search?q=${"a".repeat(2_000)}&limit=100`,
        `/api/v1/skills/marketplace?search=${"%25".repeat(500)}`,
      ];
      await a.forever(16, (n) => a.call("GET", paths[n % paths.length]!));
    },
  },
  "JSON of 1 MB, deep, wide or broken": {
    async run(a) {
      const bodies = [
        `{"title":${"[".repeat(500_000)}`,
        `{"title":"t","custom_field_values":{${Array.from({ length: 70_000 }, (_, n) => `"k${n}":1`).join(",")}}}`,
        `{"title":"t","tag_ids":[${"1,".repeat(500_000)}1]}`,
        `{"title":"${"\\u0041".repeat(170_000)}"}`,
        `${'{"a":'.repeat(170_000)}1${"}".repeat(170_000)}`,
        `{"title":"t","dependencies":[${'"x",'.repeat(250_000)}"x"]}`,
      ];
      await a.forever(8, (n) => a.call("POST", `${board(a)}/tasks`, { raw: bodies[n % bodies.length]! }));
    },
  },
  "metrics over all ranges at once": {
    async run(a) {
      const ranges = ["24h", "3d", "7d", "14d", "1m", "3m", "6m", "1y"];
      await a.forever(32, (n) => a.call("GET", `/api/v1/metrics/dashboard?range_key=${ranges[n % ranges.length]}`));
    },
  },
  "failed sign-ins from many addresses": {
    run: (a) =>
      a.forever(32, (n) => {
        const group = () => Math.floor(a.random() * 65_536).toString(16);
        const address =
          n % 2 === 0 ? `2001:db8:1:2:${group()}:${group()}:${group()}:${group()}` : `2001:db8:${group()}:${group()}::1`;
        const headers = { "x-forwarded-for": address, authorization: `Bearer ${n}.${"x".repeat(500)}.y` };
        return n % 3 === 0
          ? a.call("GET", "/api/v1/boards", { headers: { "x-forwarded-for": address }, agent: `agent-token-${n}` })
          : a.call("GET", "/api/v1/boards", { headers, anonymous: true });
      }),
  },
  "unsigned posts to B's signed webhook": {
    // Long enough to use up the rate of a webhook, and to post once more.
    seconds: 9,
    run: (a) =>
      a.forever(16, (n) => {
        const signature = n % 2 === 0 ? {} : { "x-hub-signature-256": `sha256=${"0".repeat(64)}` };
        // Each post comes from another network, like the posts of a botnet.
        const headers = { ...signature, "x-forwarded-for": `2001:db8:${(n % 50_000).toString(16)}::1` };
        return a.call("POST", a.victim.signed_path, { raw: "{}", headers, anonymous: true });
      }),
  },
};
