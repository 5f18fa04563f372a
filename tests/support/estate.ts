import { createApp, type Runtime } from "@board/api/app";
import { endpoints } from "@board/api/groups";
import type { Db } from "@board/core/context";
import { agents, boards, gateway_installed_skills, organizations } from "@board/core/db/schema";
import { type FakeGateway, startFakeGateway } from "@board/local/fake-gateway/server";
import { withAgents } from "@board/local/fake-gateway/config";
import { eq, inArray } from "drizzle-orm";
import { addBoard } from "./board.ts";
import { type Caller, inviteCallers } from "./callers.ts";
import {
  BOARD_MARK,
  ELSEWHERE_MARK,
  furnishBoard,
  furnishOrganization,
  type Ids,
  NEIGHBOUR_MARK,
  ORGANIZATION_MARK,
  REPOSITORY,
  sender,
} from "./furnishing.ts";
import { type Answer, call, type CallOptions } from "./http.ts";
import { addFigures, addGateway, moveField, tangle } from "./oddities.ts";
import { skipProvisioning } from "./skip-provisioning.ts";
import { placeWitness } from "./witness.ts";
import type { World } from "./world.ts";

/** A request, and all that it did. */
export interface Observed {
  answer: Answer;
  /** Rows it wrote, as the witness tells them; null when its transaction was broken. */
  writes: string[] | null;
  /** What it asked of the host of the organizations. */
  calls: string[];
}

/** Two organizations; of each, something of everything there is, and everybody who may come. */
export interface Estate {
  callers: Caller[];
  /** What stands in a path, a query or a body for each placeholder: rows of the home organization. */
  known: Ids;
  /** Rows of the other organization. */
  theirs: Ids;
  /** The home organization's, and of its boards those of the one that has nothing of the home board. */
  elsewhere: Ids;
  /** Sends a request, and takes back whatever it wrote. */
  attempt(method: string, path: string, options: CallOptions): Promise<Observed>;
  /** A text without what differs from one time to the next. */
  withoutChance: (text: string) => string;
  close(): Promise<void>;
}

export async function createEstate(world: World): Promise<Estate> {
  const host = await startFakeGateway({ token: "test-token-123" });
  const home = await world.tenant("home", host.url);
  const stranger = await world.tenant("stranger", host.url);
  const shared = await furnishOrganization(world, home, ORGANIZATION_MARK, REPOSITORY);
  const known = { ...shared, ...(await furnishBoard(world, home, ORGANIZATION_MARK, BOARD_MARK)) };
  const strangers = await furnishOrganization(world, stranger, "theirs", "https://github.com/acme/second");
  // Of the repository that the home organization has as a pack.
  const skill = { source_url: `${REPOSITORY}/tree/main/other` };
  await sender(world, stranger.owner)("POST", "/api/skills/marketplace", skill);
  const theirs = { ...strangers, ...(await furnishBoard(world, stranger, "theirs", "their board's")) };
  const another = async (name: string, mark: string) => {
    const { board_id, agent } = await addBoard(world, home, name);
    return { ...shared, ...(await furnishBoard(world, { ...home, board_id, worker: { ...home.worker, ...agent } }, name, mark)) };
  };
  const elsewhere = await another("Elsewhere", ELSEWHERE_MARK);
  const neighbour = await another("Neighbour", NEIGHBOUR_MARK);
  await world.db.update(organizations).set({ name: "Strangers" }).where(eq(organizations.id, stranger.organization_id));
  await world.db.update(boards).set({ board_group_id: known.group_id! }).where(eq(boards.id, neighbour.board_id!));
  const places = { home: home.board_id, elsewhere: elsewhere.board_id!, neighbour: neighbour.board_id! };
  const spare_gateway_id = await addGateway(world, home, "Spare host", host.url);
  const apart_gateway_id = await addGateway(world, home, "Apart host", host.url);
  await addBoard(world, { ...home, gateway_id: apart_gateway_id }, "Apart");
  await world.db.insert(gateway_installed_skills).values({ gateway_id: apart_gateway_id, skill_id: known.skill_id! });
  const callers = await inviteCallers(world, home, stranger, { ...places, theirs: stranger.board_id, apart_gateway_id });
  await addFigures(world, [home, stranger], elsewhere);
  const tangled_task_id = await tangle(world, known, elsewhere, theirs);
  await sender(world, home.owner)("POST", `/api/v1/boards/${places.elsewhere}/memory`, { content: "/pause", tags: ["chat"] });
  const moved_field_id = await moveField(world, home, known.task_id!, places);
  await skipProvisioning(world.db);
  await settleOnHost(world, host, [known, theirs, elsewhere, neighbour]);
  const witness = await placeWitness(world.db);
  const attempt = undoing(world, host, witness.read);
  const { withoutChance } = witness;
  const more = { spare_gateway_id, moved_field_id, tangled_task_id };
  return { callers, known: { ...known, ...more }, theirs, elsewhere, attempt, withoutChance, close: () => host.close() };
}

/** The host knows the agents of every board and has a session of each, whosever they are. */
async function settleOnHost(world: World, { host }: FakeGateway, boards: Ids[]): Promise<void> {
  const ids = boards.map(({ agent_id }) => agent_id!);
  const rows = await world.db.select().from(agents).where(inArray(agents.id, ids));
  const keys = rows.map(({ openclaw_session_id }) => openclaw_session_id!);
  const roster = keys.map((key) => ({ id: key.split(":")[1]! }));
  host.config.write(withAgents(host.config.file(), host.dialect, [{ id: "main" }, ...roster]));
  host.config.reload();
  for (const key of keys) host.sessions.set(key, { sessionId: key, updatedAt: 0, label: key, messages: [] });
}

class Undone extends Error {}

/**
 * Requests one after the other, each in a transaction that is taken back, and on a host that forgets it: every caller finds
 * everything as it was.
 */
function undoing(world: World, { host, calls }: FakeGateway, read: (transaction: Db) => Promise<string[]>): Estate["attempt"] {
  let open: Db = world.db;
  const runtime: Runtime = { ...world.runtime, context: () => ({ ...world.runtime.context(), db: open }) };
  const app = createApp(runtime, endpoints);
  const before = structuredClone({ sessions: host.sessions, files: host.files });
  return async (method, path, options) => {
    Object.assign(host, structuredClone(before));
    calls.length = 0;
    let observed: Observed | undefined;
    await world.db
      .transaction(async (db) => {
        open = db;
        const answer = await call((target, init) => app.request(target, init), method, path, options);
        const writes = await read(db).catch(() => null);
        const asked = calls.filter(({ method: name }) => name !== "connect");
        observed = { answer, writes, calls: asked.map(({ method: name, params }) => `${name} ${JSON.stringify(params)}`) };
        throw new Undone();
      })
      .catch((error: unknown) => {
        if (!(error instanceof Undone)) throw error;
      });
    return observed!;
  };
}
