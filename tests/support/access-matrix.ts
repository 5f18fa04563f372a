import { type Endpoint, isStream } from "@board/api/endpoint";
import { endpoints } from "@board/api/groups";
import { openPostgres } from "@board/core/db/postgres";
import { silent } from "@board/core/log";
import { sql } from "drizzle-orm";
import { inputOf, mayCall, type Verdict, verdictOf } from "./access-rules.ts";
import type { Caller } from "./callers.ts";
import { createEstate, type Estate, type Observed } from "./estate.ts";
import { BOARD_MARK, ELSEWHERE_MARK, type Ids, NEIGHBOUR_MARK, ORGANIZATION_MARK } from "./furnishing.ts";
import { startPostgres } from "./postgres.ts";
import { NAMING, REFERENCES, type Rows } from "./references.ts";
import { createWorld } from "./world.ts";

/** One operation, under one of its names, called by somebody. */
export interface Trial {
  endpoint: Endpoint;
  path: string;
  caller: Caller;
  /** The path and query that are sent. */
  target: string;
  body: object | undefined;
  /** What it has to be answered with. */
  status: number;
  /** What sets it apart from the caller's other trials of the operation. */
  about: string | null;
}

export interface Matrix {
  trials: Trial[];
  /** What is wrong with the answer by the access rules; null for nothing. Whatever the request wrote is undone. */
  problemOf(trial: Trial): Promise<string | null>;
  /** All that can be seen of a request, without what differs from one time to the next: answer, rows written, calls to the host. */
  observe(trial: Trial): Promise<string>;
  close(): Promise<void>;
}

const OTHER_NAMES = new Set(["nobody", "owner", "member without boards", "lead", "another owner", "another's lead"]);

/** Every operation, under every name it has, called by everybody who may come: on a real PostgreSQL. */
export async function openMatrix(): Promise<Matrix> {
  const postgres = await startPostgres();
  const database = openPostgres(await postgres.createDatabase("estate"), { max: 8, prepare: false, log: silent });
  await database.migrate();
  let stopped: Date | null = null;
  const world = await createWorld({ database, streams: { max_seconds: 0 }, clock: () => stopped ?? new Date() });
  const estate = await createEstate(world);
  // Else the plans of statements change while they are compared, and with them the order of what has none.
  await database.db.execute(sql`alter system set autovacuum = off`);
  await database.db.execute(sql`select pg_reload_conf()`);
  await database.db.execute(sql`analyze`);
  // What depends on the time is the same for the last request as for the first.
  stopped = new Date();
  const attempt = ({ endpoint, caller, target, body }: Trial): Promise<Observed> => {
    const options = { ...caller.options, ...(body ? { body } : {}), headers: { prefer: "respond-async" } };
    return estate.attempt(endpoint.method, target, options);
  };
  return {
    trials: endpoints.flatMap((endpoint) => endpoint.paths.flatMap((path) => trialsOf(endpoint, path, estate))),
    async problemOf(trial) {
      const { answer, writes } = await attempt(trial);
      const { status, text } = answer;
      if (status !== trial.status) return `${trial.status} expected, got ${status} ${text.slice(0, 300)}`;
      const leak = hiddenFrom(trial).find((mark) => text.includes(mark));
      if (leak) return `sees what is ${leak}: ${text.slice(0, 500)}`;
      const written = status < 400 ? undefined : (writes ?? []).find((write) => !isPresence(write));
      return written ? `is refused, and yet writes: ${written}` : null;
    },
    async observe(trial) {
      const { answer, writes, calls } = await attempt(trial);
      const written = (writes ?? ["(broken)"]).map(estate.withoutChance).toSorted();
      const asked = calls.map(estate.withoutChance).toSorted();
      return [answer.status, estate.withoutChance(answer.text), ...written, ...asked].join("\n");
    },
    async close() {
      await estate.close();
      await world.close();
      await database.close();
      await postgres.stop();
    },
  };
}

const fromTheBeginning = () => "?since=2020-01-01";

function trialsOf(endpoint: Endpoint, path: string, estate: Estate): Trial[] {
  const {
    body,
    query = isStream(endpoint) ? fromTheBeginning : undefined,
    answers = endpoint.spec.status ?? 200,
  } = inputOf(endpoint);
  const { known } = estate;
  const trial = (caller: Caller, verdict: Verdict, about: string | null, named = known, ids = named): Trial => ({
    endpoint,
    path,
    caller,
    target: toTarget(path, idsIn(path, ids)) + (query?.(named) ?? ""),
    body: body?.(named),
    status: verdict === "through" ? answers : verdict,
    about,
  });
  const called = estate.callers.map((caller) => trial(caller, verdictOf(endpoint, path, caller), null));
  // Another name of an operation leads to the same code: it is enough to see that it leads there.
  if (path !== endpoint.paths[0]) return called.filter(({ caller }) => OTHER_NAMES.has(caller.name));
  const crossed = crossings(path, estate).map(({ caller, ids, about }) =>
    trial(caller, mayCall(endpoint, caller) ? 404 : verdictOf(endpoint, path, caller), about, known, ids),
  );
  const own = estate.callers.flatMap((caller) => {
    const twin = twinOf(caller, estate);
    return twin ? [trial(caller, verdictOf(endpoint, path, twin.caller), "in the own place", twin.ids)] : [];
  });
  const abroad = estate.callers
    .filter(({ name }) => ABROAD.has(name))
    .map((caller) => trial(caller, verdictOf(endpoint, path, strangerLike(caller)), "in another organization", estate.theirs));
  return [...called, ...crossed, ...own, ...abroad, ...called.flatMap((one) => naming(one, estate))];
}

/** Members by a row, some of whom have one that names a board of the other organization, by a right to all boards, and an agent. */
const ABROAD = new Set([
  "member who reads the board",
  "admin who writes to another board",
  "member who reads all boards",
  "admin who reads all boards",
  "lead",
]);
const strangerLike = ({ visitor: _visitor, ...caller }: Caller): Caller => ({
  ...caller,
  home: false,
  own: false,
  ...(caller.is === "user" ? { board: "none" } : {}),
});

/** Who has the same rights on the home board as a caller has in another place, and the rows of that place. */
function twinOf(caller: Caller, { callers, theirs, elsewhere }: Estate): { caller: Caller; ids: Ids } | null {
  const twin = TWINS[caller.name];
  if (!twin) return null;
  return { caller: callers.find(({ name }) => name === twin)!, ids: caller.home ? elsewhere : theirs };
}
const TWINS: Record<string, string> = {
  owner: "owner",
  "member who writes to another board": "member who writes to the board",
  "lead of another board": "lead",
  "main agent": "main agent",
  "another owner": "owner",
  "another's lead": "lead",
  "another's worker": "worker",
  "another's main agent": "main agent",
};

/** A request that would get through, naming other rows than it should in its query or body. */
function naming(trial: Trial, rows: Rows): Trial[] {
  const { endpoint, path, caller } = trial;
  if (verdictOf(endpoint, path, caller) !== "through" || !NAMING.has(caller.name)) return [];
  return (REFERENCES[`${endpoint.method} ${endpoint.paths[0]}`] ?? []).map(({ about, query, body, at, answers }) => ({
    ...trial,
    about,
    target:
      (at ? toTarget(path, { ...rows.known, ...at(rows) }) : trial.target.split("?")[0]!) +
      (query?.(rows) ?? "") +
      (isStream(endpoint) ? "&since=2020-01-01" : ""),
    body: body?.(rows) ?? trial.body,
    status: typeof answers === "number" ? answers : answers(caller),
  }));
}

const toTarget = (path: string, ids: Ids) => path.replaceAll(/\{(\w+)\}/g, (_match, name: string) => ids[name] ?? "x");

/** Runs of packs and runs of gateways have one name in paths. */
const idsIn = (path: string, ids: Ids): Ids => (path.includes("{pack_id}") ? { ...ids, run_id: ids.pack_run_id! } : ids);

/**
 * For paths with several ids: those in front are of a place of the caller's own, what they should hold is of the home board.
 * There it is not.
 */
function crossings(path: string, { callers, known, theirs, elsewhere }: Estate): { caller: Caller; ids: Ids; about: string }[] {
  const names = [...path.matchAll(/\{(\w+_id)\}/g)].map((found) => found[1]!);
  const own = (caller: Caller): Ids => idsIn(path, caller.home ? elsewhere : theirs);
  return callers
    .filter(({ home, role, own: onBoard }) => (home ? role === "owner" || onBoard === false : true))
    .filter(({ is, name, visitor }) => is !== "nobody" && !visitor && name !== "main agent of another gateway")
    .flatMap((caller) =>
      names.slice(1).map((_name, at) => {
        const front = Object.fromEntries(names.slice(0, at + 1).map((name) => [name, own(caller)[name]!]));
        return { caller, ids: { ...idsIn(path, known), ...front }, about: `${names[at + 1]} of another place` };
      }),
    )
    .filter(({ caller, ids }) => !caller.home || ids.board_id === elsewhere.board_id);
}

const PLACES = { home: BOARD_MARK, elsewhere: ELSEWHERE_MARK, neighbour: NEIGHBOUR_MARK } as const;

/** Marks of texts that must not be in the answer. */
function hiddenFrom({ caller: { home, visitor, reads, is }, path, body }: Trial): string[] {
  // At work elsewhere, a visitor reaches boards by their ids, with what belongs to them.
  const atBoard = path.includes("{board_id}") || (body && "board_id" in body);
  const places = visitor && !atBoard ? [] : reads;
  // The agents of a group work together: each sees the tasks on all of its boards.
  const grouped = is === "agent" && reads.includes("home") && path.endsWith("/group-snapshot") ? ["neighbour"] : [];
  const hidden = Object.entries(PLACES).filter(([place]) => ![...places, ...grouped].includes(place));
  return [...(home || (visitor && atBoard) ? [] : [ORGANIZATION_MARK]), ...hidden.map(([, mark]) => mark)];
}

/** That an agent was there is noted whatever becomes of its request, and so is a person who comes for the first time. */
const isPresence = (write: string): boolean => /^(agents|users) update /.test(write) || /"agent\.connected"/.test(write);
