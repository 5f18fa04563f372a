import type { Endpoint } from "@board/api/endpoint";
import { endpoints } from "@board/api/groups";
import { openPostgres } from "@board/core/db/postgres";
import { silent } from "@board/core/log";
import { inputOf, mayCall, verdictOf } from "./access-rules.ts";
import { BOARD_MARK, type Caller, createEstate, type Estate, type Ids, ORGANIZATION_MARK } from "./estate.ts";
import { startPostgres } from "./postgres.ts";
import { createWorld } from "./world.ts";

/** One operation, under one of its names, called by somebody. */
export interface Trial {
  endpoint: Endpoint;
  path: string;
  caller: Caller;
  /** What stands for the placeholders. */
  ids: Ids;
  /** The path leads from a place of the caller's own to rows of the home board: there they are not. */
  crossed: boolean;
}

export interface Matrix {
  trials: Trial[];
  /** What is wrong with the answer by the access rules; null for nothing. Whatever the request wrote is undone. */
  problemOf(trial: Trial): Promise<string | null>;
  close(): Promise<void>;
}

const OTHER_NAMES = new Set(["nobody", "owner", "member without boards", "lead", "another owner", "another's lead"]);

/** Every operation, under every name it has, called by everybody who may come: on a real PostgreSQL. */
export async function openMatrix(): Promise<Matrix> {
  const postgres = await startPostgres();
  const database = openPostgres(await postgres.createDatabase("estate"), { max: 8, log: silent });
  await database.migrate();
  const world = await createWorld({ database, streams: { max_seconds: 0 } });
  const estate = await createEstate(world);
  const operations = endpoints.flatMap((endpoint) => endpoint.paths.map((path) => ({ endpoint, path })));
  const { known } = estate;
  const attempt = ({ endpoint, path, caller, ids }: Trial) => {
    const { body, query } = inputOf(endpoint);
    const target = path.replaceAll(/\{(\w+)\}/g, (_match, name: string) => ids[name] ?? "x") + (query?.(known) ?? "");
    const options = { ...caller.options, ...(body ? { body: body(known) } : {}), headers: { prefer: "respond-async" } };
    return estate.attempt(endpoint.method, target, options);
  };
  return {
    trials: operations.flatMap(({ endpoint, path }) => {
      const ids = idsIn(path, known);
      const called = estate.callers.map((caller) => ({ endpoint, path, caller, ids, crossed: false }));
      // Another name of an operation leads to the same code: it is enough to see that it leads there.
      if (path !== endpoint.paths[0]) return called.filter(({ caller }) => OTHER_NAMES.has(caller.name));
      return [...called, ...crossings(path, estate).map((crossing) => ({ endpoint, path, ...crossing, crossed: true }))];
    }),
    async problemOf(trial) {
      const { endpoint, path, caller, crossed } = trial;
      const { answers = endpoint.spec.status ?? 200 } = inputOf(endpoint);
      const { status, text } = await attempt(trial);
      const verdict = crossed && mayCall(endpoint, caller) ? 404 : verdictOf(endpoint, path, caller);
      if (status !== (verdict === "through" ? answers : verdict))
        return `${verdict} expected, got ${status} ${text.slice(0, 300)}`;
      const leak = hiddenFrom(caller).find((mark) => text.includes(mark));
      return leak ? `sees what is ${leak}: ${text.slice(0, 500)}` : null;
    },
    async close() {
      await estate.close();
      await world.close();
      await database.close();
      await postgres.stop();
    },
  };
}

/** Runs of packs and runs of gateways have one name in paths. */
const idsIn = (path: string, ids: Ids): Ids => (path.includes("{pack_id}") ? { ...ids, run_id: ids.pack_run_id! } : ids);

/** For paths with several ids: those in front are the caller's own, what they should hold is of the home board. */
function crossings(path: string, { callers, known, theirs, elsewhere }: Estate): { caller: Caller; ids: Ids }[] {
  const names = [...path.matchAll(/\{(\w+_id)\}/g)].map((found) => found[1]!);
  const own = (caller: Caller): Ids => idsIn(path, caller.home ? { ...known, board_id: elsewhere } : theirs);
  return callers
    .filter(({ home, role, own: onBoard }) => (home ? role === "owner" || onBoard === false : true))
    .filter(({ is, name }) => is !== "nobody" && name !== "main agent of another gateway")
    .flatMap((caller) =>
      names.slice(1).map((_name, at) => {
        const front = Object.fromEntries(names.slice(0, at + 1).map((name) => [name, own(caller)[name]!]));
        return { caller, ids: { ...idsIn(path, known), ...front } };
      }),
    )
    .filter(({ caller, ids }) => !caller.home || ids.board_id === elsewhere);
}

/** Marks of texts that must not be in any answer to this caller. */
const hiddenFrom = ({ home, board, own }: Caller): string[] => [
  ...(home ? [] : [ORGANIZATION_MARK]),
  ...(!home || board === "none" || own === false ? [BOARD_MARK] : []),
];
