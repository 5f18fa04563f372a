/** Makes many changes while the receivers of subscriptions, the queue and the processes of the service fail at random. */
import { OWNER, type ServiceEnvironment } from "../load/environment.ts";
import { type FleetPlan, type FleetRun, runFleet, type Send } from "../load/fleet-run.ts";
import type { ProcessPool } from "../load/process-pool.ts";
import { createRandom, pick } from "../load/random.ts";
import { expectInvariants } from "./invariants.ts";
import { type Behaviour, BEHAVIOURS, type FaultyReceivers, startFaultyReceivers } from "./receivers.ts";

/**
 * Each idle poll advances the clock by up to half an hour. All idle polls together cover more than ten hours, the longest wait
 * between attempts.
 */
const MAX_IDLE_POLLS = 100;

export interface DeliveriesPlan extends FleetPlan {
  changes: number;
}

/** A subscription and the behaviour of its receiver. */
export interface Subscribed {
  id: string;
  secret: string;
  behaviour: Behaviour;
  /** Null for all boards. */
  board_id: string | null;
}

/** A board and its share of the changes. */
interface Place {
  board_id: string;
  share: number;
}

interface DeliveriesPlace {
  subscriptions: Subscribed[];
  places: Place[];
}

export interface DeliveriesRun extends Pick<FleetRun<unknown>, "rows" | "errors"> {
  subscriptions: readonly Subscribed[];
  receivers: FaultyReceivers;
}

/** Runs until no job is left, checks the invariants and returns the figures for the summary. */
export async function runDeliveries(crew: ProcessPool, plan: DeliveriesPlan): Promise<Record<string, number | string>> {
  const random = createRandom(plan.seed);
  const receivers = await startFaultyReceivers(random);
  /** Tasks that were created and not changed yet. */
  const untouched: string[] = [];
  const headers = { authorization: `Bearer ${OWNER}` };

  function choosePlace(places: readonly Place[]): Place {
    let drawn = random();
    return places.find(({ share }) => (drawn -= share) < 0) ?? pick(random, places);
  }

  /** Creates a task, or changes the status of one. A request that gets no answer is repeated. */
  async function change(send: Send, places: readonly Place[]): Promise<void> {
    const known = random() < 0.5 ? untouched.pop() : undefined;
    const path = known ?? `/api/v1/boards/${choosePlace(places).board_id}/tasks`;
    const request = known
      ? { method: "PATCH", path, headers, body: { status: "in_progress" } }
      : { method: "POST", path, headers, body: { title: "Changed" } };
    let reply = await send(request);
    while (reply === null) reply = await send(request);
    if (reply.status !== 200) throw new Error(`${request.method} ${path} was answered with ${reply.status}: ${reply.text}`);
    if (!known) untouched.push(`${path}/${(JSON.parse(reply.text) as { id: string }).id}`);
  }

  const work = {
    random,
    times: plan.changes,
    max_idle_polls: MAX_IDLE_POLLS,
    seed: (outside: ServiceEnvironment) => addSubscriptions(outside, receivers),
    act: (send: Send, { places }: DeliveriesPlace) => change(send, places),
  };
  try {
    return await runFleet(crew, plan, work, async ({ place, rows, count, errors, figures }) => {
      const { subscriptions } = place;
      await expectInvariants({ subscriptions, receivers, rows, errors });
      const sum = (numberOf: (subscribed: Subscribed) => number) =>
        subscriptions.reduce((total, subscribed) => total + numberOf(subscribed), 0);
      const ended = (status: string) => count(`count(*) filter (where status = '${status}')`, "subscription_deliveries");
      return {
        changes: plan.changes,
        ...figures,
        deliveries: await count("count(*)", "subscription_deliveries"),
        "delivered, failed": `${await ended("delivered")}, ${await ended("failed")}`,
        "messages received": sum(({ behaviour }) => receivers.messagesOf(behaviour).length),
        "events accepted": sum(({ behaviour }) => receivers.acceptedBy(behaviour).size),
        "errors, busy, redirects, garbage, cut, silent": Object.values(receivers.faults).join(", "),
      };
    });
  } finally {
    await receivers.close();
  }
}

/** Adds a board for each behaviour with a subscription, and a subscription to all boards with a receiver that never fails. */
async function addSubscriptions(outside: ServiceEnvironment, receivers: FaultyReceivers): Promise<DeliveriesPlace> {
  const subscribe = async (base: string, behaviour: Behaviour, board_id: string | null): Promise<Subscribed> => {
    const body = { url: receivers.urlOf(behaviour), event_types: ["task.*"] };
    const { id, secret } = await outside.create<{ id: string; secret: string }>(`${base}/subscriptions`, body);
    return { id, secret, behaviour, board_id };
  };
  const subscriptions = [await subscribe("/api/v1", "steady", null)];
  const places: Place[] = [];
  for (const [behaviour, share] of Object.entries(BEHAVIOURS) as [keyof typeof BEHAVIOURS, number][]) {
    const board = { name: behaviour, description: "A board", gateway: "pull" };
    const { id: board_id } = await outside.create<{ id: string }>("/api/v1/boards", board);
    subscriptions.push(await subscribe(`/api/v1/boards/${board_id}`, behaviour, board_id));
    places.push({ board_id, share });
  }
  await outside.drainQueue();
  return { subscriptions, places };
}
