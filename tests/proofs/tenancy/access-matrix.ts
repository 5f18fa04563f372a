import { type Endpoint, isStream } from "@board/api/endpoint";
import { endpoints } from "@board/api/groups";
import type { Database } from "@board/core/db/database";
import { openPostgres } from "@board/core/db/postgres";
import { silentLog } from "@board/core/values/log";
import { sql } from "drizzle-orm";
import { inputOf, canCall, type Verdict, verdictOf } from "./access-rules.ts";
import { ALL_BOARDS, type Caller, strangerLike } from "./callers.ts";
import { createTenancyFixture, type TenancyFixture, type ObservedRequest } from "./tenancy-fixture.ts";
import { BOARD_MARK, OTHER_BOARD_MARK, type Ids, GROUP_BOARD_MARK, ORGANIZATION_MARK } from "./seed-tenant.ts";
import type { Answer } from "../../support/http.ts";
import { startPostgres } from "../../support/postgres.ts";
import type { Rows } from "./reference.ts";
import { CALLERS_WITH_REFERENCES, REFERENCES } from "./references.ts";
import { findSearchProblem, FOREIGN_WORD, isSearchable, type Search, searchCases } from "./search-cases.ts";
import { toolCases, withToolStatus } from "./tool-cases.ts";
import { createWorld } from "../../support/world.ts";

/** A call of an operation under one of its paths by one caller. */
export interface AccessCase {
  endpoint: Endpoint;
  path: string;
  caller: Caller;
  /** The path and query of the request. */
  target: string;
  body: object | undefined;
  /** The expected status. */
  status: number;
  /** Whether the access checks refuse the caller, who may learn nothing from the answer. */
  refused?: boolean;
  /** How this call differs from the caller's other calls of the operation. */
  variation: string | null;
  /** The tool that is called. */
  tool?: string;
  /** Whether a tool call names a board in its arguments. */
  at_board?: boolean;
  /** The word that a list is searched for. */
  search?: Search;
}

export interface AccessMatrix {
  cases: AccessCase[];
  /**
   * Returns how the answer breaks the access rules, or null. The writes of the request are rolled back. Statements that are replaced
   * on their way must not be prepared, because the database would go on with the earlier text.
   */
  findProblem(trial: AccessCase, isPrepared?: boolean): Promise<string | null>;
  /** Returns the answer, the written rows and the calls to the host, without values that differ in every run. */
  observe(trial: AccessCase): Promise<string>;
  close(): Promise<void>;
}

const ALIAS_CALLERS = new Set(["nobody", "owner", "member without boards", "lead", "another owner", "another's lead"]);

/** Creates the cases of every operation, path and caller, on a PostgreSQL server. */
export async function openAccessMatrix(): Promise<AccessMatrix> {
  const postgres = await startPostgres();
  const url = await postgres.createDatabase("tenancy");
  const [database, prepared] = [false, true].map((prepare) => openPostgres(url, { max: 8, prepare, log: silentLog })) as [
    Database,
    Database,
  ];
  await database.migrate();
  let stopped: Date | null = null;
  const world = await createWorld({ database, streams: { max_seconds: 0 }, clock: () => stopped ?? new Date() });
  const fixture = await createTenancyFixture(world);
  // Autovacuum would change the plans of statements and thereby the order of unordered rows.
  await database.db.execute(sql`alter system set autovacuum = off`);
  await database.db.execute(sql`select pg_reload_conf()`);
  await database.db.execute(sql`analyze`);
  // The clock is stopped, so that results do not depend on the time.
  stopped = new Date();
  const send = async ({ endpoint, caller, target, body }: AccessCase, { db }: Database): Promise<ObservedRequest> => {
    const options = { ...caller.options, ...(body ? { body } : {}), headers: { prefer: "respond-async" } };
    const observed = await fixture.sendAndRollBack(db, endpoint.method, target, options);
    return target === "/mcp" ? { ...observed, answer: withToolStatus(observed.answer) } : observed;
  };
  return {
    cases: [
      ...endpoints.flatMap((endpoint) => endpoint.paths.flatMap((path) => casesOf(endpoint, path, fixture))),
      ...toolCases(fixture),
    ],
    async findProblem(trial, isPrepared = true) {
      const { answer, writes } = await send(trial, isPrepared ? prepared : database);
      const { status, text } = answer;
      if (status !== trial.status) return `${trial.status} expected, got ${status} ${text.slice(0, 300)}`;
      if (trial.refused && !isPlainRefusal(answer)) return `is refused with ${text.slice(0, 300)}`;
      const hidden = hiddenMarksOf(trial);
      const leak = hidden.find((mark) => text.includes(mark));
      if (leak) return `sees what is ${leak}: ${text.slice(0, 500)}`;
      if (trial.search && status === 200) {
        const own = trial.caller.home || trial.caller.visitor;
        return findSearchProblem(trial.search, answer.body, own ? [...hidden, FOREIGN_WORD] : hidden);
      }
      const written = status < 400 ? undefined : (writes ?? []).find((write) => !isPresence(write));
      return written ? `is refused but writes: ${written}` : null;
    },
    async observe(trial) {
      const { answer, writes, calls } = await send(trial, database);
      const written = (writes ?? ["(broken)"]).map(fixture.normalize).toSorted();
      const hostCalls = calls.map(fixture.normalize).toSorted();
      return [answer.status, fixture.normalize(answer.text), ...written, ...hostCalls].join("\n");
    },
    async close() {
      await fixture.close();
      await world.close();
      await Promise.all([database.close(), prepared.close()]);
      await postgres.stop();
    },
  };
}

const sinceBeginning = () => "?since=2020-01-01";

function casesOf(endpoint: Endpoint, path: string, fixture: TenancyFixture): AccessCase[] {
  const {
    body,
    query = isStream(endpoint) ? sinceBeginning : undefined,
    answers = endpoint.spec.status ?? 200,
  } = inputOf(endpoint);
  const { known } = fixture;
  const trial = (caller: Caller, verdict: Verdict, variation: string | null, named = known, ids = named): AccessCase => ({
    endpoint,
    path,
    caller,
    target: toTarget(path, idsIn(path, ids)) + (query?.(named) ?? ""),
    body: body?.(named),
    status: verdict === "through" ? answers : verdict,
    refused: verdict !== "through",
    variation,
  });
  const called = fixture.callers.map((caller) => trial(caller, verdictOf(endpoint, path, caller), null));
  // Other paths of an operation run the same code, so a few callers are enough.
  if (path !== endpoint.paths[0]) return called.filter(({ caller }) => ALIAS_CALLERS.has(caller.name));
  const crossed = crossBoardPaths(path, fixture).map(({ caller, ids, about }) =>
    trial(caller, canCall(endpoint, caller) ? 404 : verdictOf(endpoint, path, caller), about, known, ids),
  );
  const atOwnPlace = fixture.callers.flatMap((caller) => {
    const twin = findEquivalentCaller(caller, fixture);
    return twin ? [trial(caller, verdictOf(endpoint, path, twin.caller), "in the caller's own place", twin.ids)] : [];
  });
  const abroad = fixture.callers
    .filter(({ name }) => FOREIGN_CALLERS.has(name))
    .map((caller) => trial(caller, verdictOf(endpoint, path, strangerLike(caller)), "in another organization", fixture.theirs));
  const everywhere = [...called, ...crossed, ...atOwnPlace, ...abroad];
  const searches = isSearchable(endpoint) ? searchCases(everywhere) : [];
  return [...everywhere, ...called.flatMap((entry) => referenceCases(entry, fixture)), ...searches];
}

/** Callers that are tried in the other organization: members with different rights, and an agent. */
const FOREIGN_CALLERS = new Set([
  "member who reads the board",
  "admin who writes to another board",
  "member who reads all boards",
  "admin who reads all boards",
  "lead",
]);

/** Returns a caller with the same rights on the home board as this caller has on another board, and the ids of the other board. */
function findEquivalentCaller(
  caller: Caller,
  { callers, theirs, elsewhere }: TenancyFixture,
): { caller: Caller; ids: Ids } | null {
  const twin = EQUIVALENT_CALLERS[caller.name];
  if (!twin) return null;
  return { caller: callers.find(({ name }) => name === twin)!, ids: caller.home ? elsewhere : theirs };
}
const EQUIVALENT_CALLERS: Record<string, string> = {
  owner: "owner",
  "member who writes to another board": "member who writes to the board",
  "lead of another board": "lead",
  "main agent": "main agent",
  "another owner": "owner",
  "another's lead": "lead",
  "another's worker": "worker",
  "another's main agent": "main agent",
};

/** Returns permitted requests that name foreign rows in their query or body. */
function referenceCases(trial: AccessCase, rows: Rows): AccessCase[] {
  const { endpoint, path, caller } = trial;
  if (verdictOf(endpoint, path, caller) !== "through" || !CALLERS_WITH_REFERENCES.has(caller.name)) return [];
  return (REFERENCES[`${endpoint.method} ${endpoint.paths[0]}`] ?? []).map(({ about, query, body, at, answers }) => ({
    ...trial,
    variation: about,
    target:
      (at ? toTarget(path, { ...rows.known, ...at(rows) }) : trial.target.split("?")[0]!) +
      (query?.(rows) ?? "") +
      (isStream(endpoint) ? "&since=2020-01-01" : ""),
    body: body?.(rows) ?? trial.body,
    status: typeof answers === "number" ? answers : answers(caller),
  }));
}

const toTarget = (path: string, ids: Ids) => path.replaceAll(/\{(\w+)\}/g, (_match, name: string) => ids[name] ?? "x");

/** Returns the ids for a path. Several kinds of rows share a placeholder, so the path decides which row is meant. */
const idsIn = (path: string, ids: Ids): Ids =>
  path.includes("/users/me/keys/")
    ? { ...ids, key_id: ids.own_key_id! }
    : path.includes("{pack_id}")
      ? { ...ids, run_id: ids.pack_run_id! }
      : path.includes("/runs/")
        ? { ...ids, run_id: ids.task_run_id! }
        : ids;

/**
 * Returns ids for paths with several placeholders: the first ids belong to the caller's own board or organization, and the last
 * ids to the home board, so that the row does not exist under this path.
 */
function crossBoardPaths(
  path: string,
  { callers, known, theirs, elsewhere }: TenancyFixture,
): { caller: Caller; ids: Ids; about: string }[] {
  const names = [...path.matchAll(/\{(\w+_id)\}/g)].map((match) => match[1]!);
  const ownIds = (caller: Caller): Ids => idsIn(path, caller.home ? elsewhere : theirs);
  return callers
    .filter(({ home, role, own: onBoard }) => (home ? role === "owner" || onBoard === false : true))
    .filter(({ is, name, visitor }) => is !== "nobody" && !visitor && name !== "main agent of another gateway")
    .flatMap((caller) =>
      names.slice(1).map((_name, at) => {
        const front = Object.fromEntries(names.slice(0, at + 1).map((name) => [name, ownIds(caller)[name]!]));
        return { caller, ids: { ...idsIn(path, known), ...front }, about: `${names[at + 1]} of another place` };
      }),
    )
    .filter(({ caller, ids }) => !caller.home || ids.board_id === elsewhere.board_id);
}

const PLACES = { home: BOARD_MARK, elsewhere: OTHER_BOARD_MARK, neighbour: GROUP_BOARD_MARK } as const;

/** What admins see of the whole organization: its audit log, and the sessions of a gateway, which its boards share. */
const OF_ORGANIZATION = /^\/api\/v1\/(?:audit|gateway\/)/;

/** Returns the marker words of boards and organizations that must not appear in the answer. */
function hiddenMarksOf({ caller: { home, visitor, reads, is }, path, body, at_board }: AccessCase): string[] {
  // A visitor, whose active organization is another, can access boards only by their ids.
  const atBoard = at_board || path.includes("{board_id}") || (body && "board_id" in body);
  const places = visitor && !atBoard ? [] : OF_ORGANIZATION.test(path) && home ? ALL_BOARDS : reads;
  // Agents see the tasks on all boards of their group.
  const grouped = is === "agent" && reads.includes("home") && path.endsWith("/group-snapshot") ? ["neighbour"] : [];
  const hidden = Object.entries(PLACES).filter(([place]) => ![...places, ...grouped].includes(place));
  return [...(home || (visitor && atBoard) ? [] : [ORGANIZATION_MARK]), ...hidden.map(([, mark]) => mark)];
}

/** The texts of refusals, which reveal nothing about what they hide. */
const REFUSALS: Record<number, RegExp> = {
  401: /^Not authenticated$/,
  403: /^(Forbidden|Board access denied|Only .+|Board leads cannot .+)$/,
  404: /^Not Found$/,
};

function isPlainRefusal({ status, body }: Answer): boolean {
  const { detail } = body as { detail: string | { message: string } };
  return REFUSALS[status]?.test(typeof detail === "string" ? detail : detail.message) ?? true;
}

/** Checks whether a write records an agent's presence or a person's first request. Refused requests may write these too. */
const isPresence = (write: string): boolean =>
  /^(agents|users|api_keys) update |^changes insert .*"type": "agent", "action": "updated"/.test(write) ||
  /"agent\.connected"/.test(write);
