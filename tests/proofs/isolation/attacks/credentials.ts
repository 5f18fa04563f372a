/** Attacks with many credentials of one organization or person. Each credential stays within its own limits. */
import type { Attacker } from "../attacker.ts";
import type { AttackPlan } from "./all.ts";

const PARALLEL = 8;
const TASKS = 200;
const MAX_TEXT = 100_000;

/** Creates agents and returns their tokens. */
async function createAgents(a: Attacker, count: number): Promise<string[]> {
  const tokens: string[] = [];
  while (tokens.length < count) {
    const body = { name: `Reader ${tokens.length}`, board_id: a.own.board_id };
    const { status, text } = await a.call("POST", "/api/v1/agents", { body });
    if (status === 200) tokens.push((JSON.parse(text) as { auth_token: string }).auth_token);
  }
  return tokens;
}

async function createTasks(a: Attacker, description: string): Promise<void> {
  const path = `/api/v1/boards/${a.own.board_id}/tasks`;
  for (let n = 0; n < TASKS; n++) await a.call("POST", path, { body: { title: `Task ${n}`, description } });
}

const listsOfAgents = (agents: number): AttackPlan => ({
  seconds: 12,
  embedded_seconds: 15,
  async run(a) {
    await createTasks(a, "d".repeat(2_000));
    const tokens = await createAgents(a, agents);
    const path = `/api/v1/agent/boards/${a.own.board_id}/tasks?limit=200`;
    await a.forever(agents * PARALLEL, (n) => a.call("GET", path, { agent: tokens[n % tokens.length]! }));
  },
});

export const credentialAttacks: Readonly<Record<string, AttackPlan>> = {
  "lists by 40 agents at once": listsOfAgents(40),
  "lists by 150 agents at once": listsOfAgents(150),
  "snapshots by 60 tokens of one person at once": {
    seconds: 12,
    embedded_seconds: 15,
    async run(a) {
      await createTasks(a, "d".repeat(MAX_TEXT / 10));
      const path = `/api/v1/boards/${a.own.board_id}/snapshot`;
      await a.forever(a.fresh_tokens.length * PARALLEL, (n) =>
        a.call("GET", path, { token: a.fresh_tokens[n % a.fresh_tokens.length]! }),
      );
    },
  },
};
