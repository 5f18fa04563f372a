import { createApp } from "@board/api/app";
import type { Runtime } from "@board/api/runtime";
import { endpoints } from "@board/api/groups";
import type { Db } from "@board/core/context/db";
import { agents, boards, gateway_installed_skills, organizations } from "@board/core/schema/all-tables";
import { type FakeGateway, startFakeGateway } from "../../support/fake-gateway/server.ts";
import { withAgents } from "../../support/fake-gateway/config.ts";
import { eq, inArray } from "drizzle-orm";
import { addBoard } from "../../support/board.ts";
import { type Caller, createCallers } from "./callers.ts";
import {
  BOARD_MARK,
  OTHER_BOARD_MARK,
  seedBoard,
  seedOrganization,
  type Ids,
  GROUP_BOARD_MARK,
  ORGANIZATION_MARK,
  REPOSITORY,
  createSender,
} from "./seed-tenant.ts";
import { type Answer, call, type CallOptions } from "../../support/http.ts";
import {
  addRemovedBoard,
  seedMetrics,
  addGateway,
  moveField,
  seedMismatchedChange,
  seedMismatchedReferences,
} from "./seed-edge-cases.ts";
import { seedForeignDetails, seedForeignRunToken, seedForeignTasks, seedInboxes, seedRemoteBoard } from "./seed-agent-work.ts";
import { seedFailedDeliveries, seedForeignJobs, seedFullOrganization } from "./seed-deliveries.ts";
import { seedForeignResults, seedPeople } from "./seed-people.ts";
import { seedUsage } from "./seed-usage.ts";
import { skipProvisioning } from "../../support/skip-provisioning.ts";
import { installRowAudit } from "./row-audit.ts";
import type { World } from "../../support/world.ts";

/** A request and its effects. */
export interface ObservedRequest {
  answer: Answer;
  /** The written rows from the row audit; null when the transaction failed. */
  writes: string[] | null;
  /** The calls to the host. */
  calls: string[];
}

/** Two organizations with rows of every kind, and all callers. */
export interface TenancyFixture {
  callers: Caller[];
  /** The rows of the home organization for each placeholder in a path, query or body. */
  known: Ids;
  /** The rows of the other organization. */
  theirs: Ids;
  /** The rows of the home organization on an unrelated board. */
  elsewhere: Ids;
  /** Sends a request and rolls back its writes. */
  sendAndRollBack(db: Db, method: string, path: string, options: CallOptions): Promise<ObservedRequest>;
  /** Removes values that differ in every run. */
  normalize: (text: string) => string;
  close(): Promise<void>;
}

export async function createTenancyFixture(world: World): Promise<TenancyFixture> {
  const host = await startFakeGateway({ token: "test-token-123" });
  const home = await world.tenant("home", host.url);
  const stranger = await world.tenant("stranger", host.url);
  const shared = await seedOrganization(world, home, ORGANIZATION_MARK, REPOSITORY);
  const removed = await addRemovedBoard(world, home);
  const known = { ...shared, ...removed, ...(await seedBoard(world, home, ORGANIZATION_MARK, BOARD_MARK)) };
  const strangers = await seedOrganization(world, stranger, "theirs", "https://github.com/acme/second");
  // The skill comes from the repository of the home organization's pack.
  const skill = { source_url: `${REPOSITORY}/tree/main/other` };
  await createSender(world, stranger.owner)("POST", "/api/skills/marketplace", skill);
  const theirRemoved = await addRemovedBoard(world, stranger);
  const theirs = { ...strangers, ...theirRemoved, ...(await seedBoard(world, stranger, "theirs", "their board's")) };
  const seedOtherBoard = async (name: string, mark: string) => {
    const { board_id, agent } = await addBoard(world, home, name);
    return { ...shared, ...(await seedBoard(world, { ...home, board_id, worker: { ...home.worker, ...agent } }, name, mark)) };
  };
  const elsewhere = await seedOtherBoard("Elsewhere", OTHER_BOARD_MARK);
  const neighbour = await seedOtherBoard("Neighbour", GROUP_BOARD_MARK);
  await world.db.update(organizations).set({ name: "Strangers" }).where(eq(organizations.id, stranger.organization_id));
  await world.db.update(boards).set({ board_group_id: known.group_id! }).where(eq(boards.id, neighbour.board_id!));
  const places = { home: home.board_id, elsewhere: elsewhere.board_id!, neighbour: neighbour.board_id! };
  const spare_gateway_id = await addGateway(world, home, "Spare host", host.url);
  const apart_gateway_id = await addGateway(world, home, "Apart host", host.url);
  const apart = await addBoard(world, { ...home, gateway_id: apart_gateway_id }, "Apart");
  await world.db.insert(gateway_installed_skills).values({ gateway_id: apart_gateway_id, skill_id: known.skill_id! });
  const callers = await createCallers(world, home, stranger, { ...places, theirs: stranger.board_id, apart_gateway_id });
  await seedMetrics(world, [home, stranger], elsewhere);
  const tangled_task_id = await seedMismatchedReferences(world, known, elsewhere, theirs);
  await createSender(world, home.owner)("POST", `/api/v1/boards/${places.elsewhere}/memory`, {
    content: "/pause",
    tags: ["chat"],
  });
  await seedMismatchedChange(world, known, theirs);
  const moved_field_id = await moveField(world, home, known.task_id!, places);
  const free_task_id = await seedForeignTasks(world, known, apart.board_id);
  await seedForeignDetails(world, known, elsewhere, [tangled_task_id, free_task_id]);
  const messages = await seedInboxes(world, known, theirs, apart_gateway_id);
  const remote = await seedRemoteBoard(world, home);
  await seedFullOrganization(world, theirs);
  await seedFailedDeliveries(world, [known, theirs, elsewhere]);
  await seedForeignJobs(world, theirs, spare_gateway_id);
  await seedForeignResults(world, known, elsewhere);
  await seedForeignRunToken(world, theirs);
  const { notification_id } = await seedPeople(world, callers, { known, elsewhere, neighbour, theirs });
  await seedUsage(world, [known, elsewhere, theirs], theirs);
  await skipProvisioning(world.db);
  await registerAgentsOnHost(world, host, [known, theirs, elsewhere, neighbour]);
  const rowAudit = await installRowAudit(world.db);
  const sendAndRollBack = createRollingBackSender(world, host, rowAudit.read);
  const { normalize } = rowAudit;
  const more = { spare_gateway_id, moved_field_id, tangled_task_id, ...messages, ...remote };
  const found = { known: { ...known, ...more }, theirs: { ...theirs, notification_id: notification_id! }, elsewhere };
  return { callers, ...found, sendAndRollBack, normalize, close: () => host.close() };
}

/** Adds the agents of every board to the host, with a session each. */
async function registerAgentsOnHost(world: World, { host }: FakeGateway, boards: Ids[]): Promise<void> {
  const ids = boards.map(({ agent_id }) => agent_id!);
  const rows = await world.db.select().from(agents).where(inArray(agents.id, ids));
  const keys = rows.map(({ openclaw_session_id }) => openclaw_session_id!);
  const roster = keys.map((key) => ({ id: key.split(":")[1]! }));
  host.config.write(withAgents(host.config.file(), host.dialect, [{ id: "main" }, ...roster]));
  host.config.reload();
  for (const key of keys) host.sessions.set(key, { sessionId: key, updatedAt: 0, label: key, messages: [] });
}

class RollBack extends Error {}

/**
 * Runs requests one after the other, each in a transaction that is rolled back and on a host that is reset, so that every
 * caller finds the same state.
 */
function createRollingBackSender(
  world: World,
  { host, calls }: FakeGateway,
  read: (transaction: Db) => Promise<string[]>,
): TenancyFixture["sendAndRollBack"] {
  let open: Db = world.db;
  const runtime: Runtime = { ...world.runtime, createContext: () => ({ ...world.runtime.createContext(), db: open }) };
  const app = createApp(runtime, endpoints);
  const before = structuredClone({ sessions: host.sessions, files: host.files });
  return async (own, method, path, options) => {
    Object.assign(host, structuredClone(before));
    calls.length = 0;
    let observed: ObservedRequest | undefined;
    await own
      .transaction(async (db) => {
        open = db;
        const answer = await call((target, init) => app.request(target, init), method, path, options);
        const writes = await read(db).catch(() => null);
        const asked = calls.filter(({ method: name }) => name !== "connect");
        observed = { answer, writes, calls: asked.map(({ method: name, params }) => `${name} ${JSON.stringify(params)}`) };
        throw new RollBack();
      })
      .catch((error: unknown) => {
        if (!(error instanceof RollBack)) throw error;
      });
    return observed!;
  };
}
