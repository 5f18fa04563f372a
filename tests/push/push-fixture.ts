import { expect } from "vitest";
import { requestApproval } from "../support/approval.ts";
import { setup, setupWorld } from "../support/fixtures.ts";
import type { Answer } from "../support/http.ts";
import { type BrowserSubscription, type PushService, startPushService } from "../support/push-service.ts";
import type { Person, Tenant, World } from "../support/world.ts";

type Body = Answer["body"];
export type Browser = BrowserSubscription & { id: string };

export const PUSH = "/api/v1/users/me/push";
export const CHANNELS = "/api/v1/users/me/channels";

export interface PushFixture {
  world: World;
  service: PushService;
  post: (person: Person, body: object) => Promise<Answer>;
  listChannels: (person: Person) => Promise<Body>;
  /** Adds a browser in which a person is notified. */
  addBrowser: (person: Person, name?: string) => Promise<Browser>;
  /** Requests an approval and sends the resulting notifications. */
  ask: (home: Tenant, body?: object) => Promise<Body>;
  decide: (body: object) => Promise<Answer>;
}

/** Opens a service with a push service for all tests of a file. */
export async function setupPush(): Promise<PushFixture> {
  const service = await setup(startPushService());
  const world = await setupWorld({ environment: { BASE_URL: "https://board.example.com" } });
  const post = ({ token }: Person, body: object) => world.call("POST", PUSH, { token, body });
  return {
    world,
    service,
    post,
    listChannels: async ({ token }) => (await world.call("GET", CHANNELS, { token })).body,
    async addBrowser(person, name = "Firefox on Linux") {
      const subscription = service.subscribe();
      const made = await post(person, { name, ...subscription });
      expect(made.status, made.text).toBe(200);
      return { ...subscription, id: made.body.id };
    },
    async ask(home, body = {}) {
      const approval = await requestApproval(world, home, body);
      await world.drain();
      return approval;
    },
    decide: (body) => world.call("POST", "/api/v1/decisions", { body }),
  };
}
