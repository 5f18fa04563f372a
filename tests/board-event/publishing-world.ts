import type { BoardEvent } from "@board/core/context/event-body";
import { BusError } from "@board/core/context/event-bus";
import type { Database } from "@board/core/db/database";
import { boards, jobs } from "@board/core/schema/all-tables";
import { type FakeGateway, startFakeGateway } from "../support/fake-gateway/server.ts";
import { deliverPublishJobs } from "../support/board-events.ts";
import { createTeam, setRules, type Team } from "../support/task-rules.ts";
import { createWorld, openTestDatabase, type World } from "../support/world.ts";

/** Two services on one database. Only `world` publishes events. */
export interface PublishingWorld {
  database: Database;
  statements: string[];
  world: World;
  nonPublishing: World;
  host: FakeGateway;
  home: Team;
  /** While true, the bus refuses every event. */
  isBusDown: boolean;
  /** The events published because of `work`. */
  eventsPublishedBy(work: () => Promise<unknown>): Promise<BoardEvent[]>;
  /** Prepares the next test: no jobs, a working bus, default board rules. */
  reset(): Promise<void>;
  close(): Promise<void>;
}

export async function createPublishingWorld(): Promise<PublishingWorld> {
  const taken: BoardEvent[] = [];
  const bus = {
    async publish(event: BoardEvent) {
      if (fixture.isBusDown) throw new BusError("away");
      taken.push(event);
    },
  };
  const statements: string[] = [];
  const host = await startFakeGateway({ token: "test-token-123", timings: { stale: 0 } });
  const database = await openTestDatabase(statements);
  const world = await createWorld({ database, bus, environment: { BOARD_EVENTS: "on" } });
  // A user is identified by issuer and subject, so both services must trust the same issuer.
  const { issuer } = world.identities;
  const environment = { OIDC_ISSUER: issuer, OIDC_JWKS_URL: `${issuer}keys` };
  const nonPublishing = await createWorld({ database, environment });
  const home = await createTeam(world, "home", host.url);
  await database.db.update(boards).set({ max_agents: 50 });
  const fixture: PublishingWorld = {
    database,
    statements,
    world,
    nonPublishing,
    host,
    home,
    isBusDown: false,
    async eventsPublishedBy(work) {
      taken.length = 0;
      await work();
      await deliverPublishJobs(world);
      return [...taken];
    },
    async reset() {
      fixture.isBusDown = false;
      await database.db.delete(jobs);
      await setRules(world, home);
    },
    async close() {
      await world.close();
      await nonPublishing.close();
      await database.close();
      await host.close();
    },
  };
  return fixture;
}
