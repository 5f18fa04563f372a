import type { BoardEvent } from "@board/core/board-event/detail";
import { BusError } from "@board/core/bus";
import type { Database } from "@board/core/db/database";
import { boards, jobs } from "@board/core/db/schema";
import { type FakeGateway, startFakeGateway } from "@board/local/fake-gateway/server";
import { publishDue } from "./board-events.ts";
import { createTeam, setRules, type Team } from "./task-rules.ts";
import { createWorld, openTemplate, type World } from "./world.ts";

/** Two services on one database: the one publishes, the other does not. */
export interface EventWorld {
  database: Database;
  statements: string[];
  world: World;
  quiet: World;
  host: FakeGateway;
  home: Team;
  /** While set, the bus takes nothing. */
  away: boolean;
  /** What leaves because of some work. */
  leaving(work: () => Promise<unknown>): Promise<BoardEvent[]>;
  /** For the next test: no job waits, the bus is there, the board has its usual rules. */
  clear(): Promise<void>;
  close(): Promise<void>;
}

export async function createEventWorld(): Promise<EventWorld> {
  const taken: BoardEvent[] = [];
  const bus = {
    async publish(event: BoardEvent) {
      if (stage.away) throw new BusError("away");
      taken.push(event);
    },
  };
  const statements: string[] = [];
  const host = await startFakeGateway({ token: "test-token-123", timings: { stale: 0 } });
  const database = await openTemplate(statements);
  const world = await createWorld({ database, bus, environment: { BOARD_EVENTS: "on" } });
  const quiet = await createWorld({ database });
  const home = await createTeam(world, "home", host.url);
  await database.db.update(boards).set({ max_agents: 50 });
  const stage: EventWorld = {
    database,
    statements,
    world,
    quiet,
    host,
    home,
    away: false,
    async leaving(work) {
      taken.length = 0;
      await work();
      await publishDue(world);
      return [...taken];
    },
    async clear() {
      stage.away = false;
      await database.db.delete(jobs);
      await setRules(world, home);
    },
    async close() {
      await world.close();
      await quiet.close();
      await database.close();
      await host.close();
    },
  };
  return stage;
}
