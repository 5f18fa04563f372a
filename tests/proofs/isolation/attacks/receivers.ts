/** Attacks by the receivers of an organization's subscriptions. */
import type { Attacker } from "../attacker.ts";
import { createSilentHost } from "../../load/hostile-host.ts";
import type { AttackPlan } from "./all.ts";

const SUBSCRIPTIONS = 50;
const TASKS = 15;

const subscribe = (a: Attacker, url: string) =>
  Promise.all(
    Array.from({ length: SUBSCRIPTIONS }, (_, n) => a.call("POST", "/api/v1/subscriptions", { body: { url: `${url}${n}` } })),
  );

async function addTasks(a: Attacker, board_id: string): Promise<void> {
  for (let n = 0; n < TASKS; n++) await a.create(`/api/v1/boards/${board_id}/tasks`, { title: `Task ${n}` });
}

/**
 * Adds an organization with a board. It then makes the first organization active again, because other attacks need it.
 */
async function addOrganization(a: Attacker, whileActive: () => Promise<unknown>): Promise<string> {
  const { id: first } = JSON.parse((await a.call("GET", "/api/v1/organizations/me")).text) as { id: string };
  await a.create("/api/v1/organizations", { name: `Another ${Date.now()}` });
  await whileActive();
  const silent = await createSilentHost();
  const connection = { url: silent.url, token: "some-token-of-a", workspace_root: "/srv/agents" };
  const gateway_id = await a.create("/api/v1/gateways", { name: "Host", ...connection });
  const board_id = await a.create("/api/v1/boards", { name: "Board", description: "A board", gateway_id });
  await a.call("PATCH", "/api/v1/organizations/me/active", { body: { organization_id: first } });
  return board_id;
}

export const receiverAttacks: Readonly<Record<string, AttackPlan>> = {
  "50 subscriptions of each of two organizations to a receiver that never answers": {
    // Longer than all other attacks. It comes last on the embedded database, because its subscriptions stay.
    seconds: 16,
    embedded_seconds: 16,
    async run(a) {
      const { url, listen } = await createSilentHost();
      await listen();
      const receiver = url.replace("ws:", "http:") + "/";
      await subscribe(a, receiver);
      const board_id = await addOrganization(a, () => subscribe(a, receiver));
      await Promise.all([addTasks(a, a.own.board_id), addTasks(a, board_id)]);
    },
  },
};
