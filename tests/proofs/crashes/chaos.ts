/** Sends many concurrent posts while hosts, the queue and the processes of the service fail at random. */
import { type FakeGateway, startFakeGateway } from "../../support/fake-gateway/server.ts";
import type { ServiceEnvironment } from "../load/environment.ts";
import { type FleetPlan, runFleet, type Send } from "../load/fleet-run.ts";
import { HOST_TOKEN } from "../load/hosts.ts";
import type { ProcessPool } from "../load/process-pool.ts";
import { createRandom, pick } from "../load/random.ts";
import { expectInvariants } from "./chaos-invariants.ts";
import { addChaosTenants, type WebhookTarget } from "./chaos-tenants.ts";
import { type FaultInjection, injectFaults } from "./fault-injection.ts";

export interface ChaosPlan extends FleetPlan {
  posts: number;
  organizations: number;
  /** Boards per organization. Each board has a lead and a worker, and each of these two agents has one webhook. */
  boards: number;
}

/** An attempt to post. Begin and end are positions in the order of all events that clients observe. */
export interface Attempt {
  hook: WebhookTarget;
  begin: number;
  /** Null without an answer. */
  end: number | null;
  payload_id: string | null;
}

interface ChaosPlace {
  hooks: WebhookTarget[];
  injections: FaultInjection[];
}

const TIMINGS = { restart_delay: 20, downtime: 20, starting: 10 };

/** Runs until no job is left, checks the invariants and returns the figures for the summary. */
export async function runChaos(crew: ProcessPool, plan: ChaosPlan): Promise<Record<string, number | string>> {
  const random = createRandom(plan.seed);
  const start = () => startFakeGateway({ token: HOST_TOKEN, timings: TIMINGS });
  const hosts = await Promise.all(Array.from({ length: plan.organizations }, start));
  const attempts: Attempt[] = [];
  let ticks = 0;

  async function post(send: Send, hook: WebhookTarget): Promise<boolean> {
    const attempt: Attempt = { hook, begin: ticks++, end: null, payload_id: null };
    attempts.push(attempt);
    const reply = await send({ method: "POST", path: hook.path, body: { attempt: attempt.begin } });
    if (reply === null) return false;
    if (reply.status !== 202) throw new Error(`A post was answered with ${reply.status}: ${reply.text}`);
    attempt.end = ticks++;
    attempt.payload_id = (JSON.parse(reply.text) as { payload_id: string }).payload_id;
    return true;
  }

  const work = {
    random,
    times: plan.posts,
    async seed(outside: ServiceEnvironment): Promise<ChaosPlace> {
      const hooks = await addChaosTenants(outside, hosts, plan.boards);
      return { hooks, injections: hosts.map((host) => injectFaults(host, random)) };
    },
    async act(send: Send, { hooks }: ChaosPlace) {
      const hook = pick(random, hooks);
      while (!(await post(send, hook)));
    },
  };
  try {
    return await runFleet(crew, plan, work, async ({ place, rows, count, errors, figures }) => {
      await expectInvariants({ attempts, hosts, rows, errors });
      return {
        posts: plan.posts,
        ...figures,
        "posts that were stored without an answer": (await count("count(*)", "board_webhook_payloads")) - plan.posts,
        "further attempts of jobs": await count("coalesce(sum(attempts - 1), 0)", "jobs"),
        "calls refused, cut, unanswered, delayed": formatFaultCounts(place.injections),
        ...countMessages(hosts),
      };
    });
  } finally {
    await Promise.all(hosts.map((host) => host.close()));
  }
}

function countMessages(hosts: readonly FakeGateway[]) {
  const received = hosts.flatMap(({ messages }) => messages).length;
  const sent = hosts.flatMap(({ calls }) => calls).filter(({ method }) => method === "chat.send").length;
  return { "messages sent": sent, "messages received": received, "repeats that hosts dropped or refused": sent - received };
}

function formatFaultCounts(injections: readonly FaultInjection[]): string {
  const sum = (of: keyof FaultInjection["counts"]) => injections.reduce((total, { counts }) => total + counts[of], 0);
  return [sum("refused"), sum("cut"), sum("lost"), sum("delayed")].join(", ");
}
