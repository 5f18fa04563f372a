import { subscriptions } from "@board/core/schema/all-tables";
import { beforeEach, expect } from "vitest";
import { setup, setupWorld } from "../support/fixtures.ts";
import type { Answer } from "../support/http.ts";
import { accept, type Receiver, startReceiver } from "../support/receiver.ts";
import type { Tenant, World } from "../support/world.ts";

type Body = Answer["body"];

/** A tenant whose owner subscribes to events, and their receiver. */
export interface SubscriptionFixture {
  world: World;
  home: Tenant;
  receiver: Receiver;
  /** Sends a request of the owner that must succeed, and returns its body. */
  send: (method: string, path: string, body?: object) => Promise<Body>;
  subscribe: (body?: object, base?: string) => Promise<Body>;
  addTask: (title?: string) => Promise<Body>;
  deliveriesOf: (subscription: { id: string }, query?: string) => Promise<Body>;
}

export const BASE = "/api/v1/subscriptions";

/** Opens a service and a receiver for all tests of a file. Subscriptions and messages are removed before each test. */
export async function setupSubscriptions(): Promise<SubscriptionFixture> {
  const receiver = await setup(startReceiver());
  const world = await setupWorld();
  const home = await world.tenant("home");
  beforeEach(async () => {
    await world.db.delete(subscriptions);
    await world.drain();
    receiver.messages.length = 0;
    receiver.answer = accept;
  });
  const send: SubscriptionFixture["send"] = async (method, path, body) => {
    const answer = await world.call(method, path, { token: home.owner.token, body });
    expect([200, 202], `${method} ${path}: ${answer.text}`).toContain(answer.status);
    return answer.body;
  };
  return {
    world,
    home,
    receiver,
    send,
    subscribe: (body = {}, base = BASE) => send("POST", base, { url: receiver.url, ...body }),
    addTask: (title = "Write the notes") => send("POST", `/api/v1/boards/${home.board_id}/tasks`, { title }),
    deliveriesOf: async ({ id }, query = "") => (await send("GET", `${BASE}/${id}/deliveries${query}`)).items,
  };
}
