import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

const root = path.resolve(import.meta.dirname, "../..");
const files = globSync(["packages/*/src/**/*.{ts,tsx}", "infra/*.ts"], { cwd: root }).map((file) => file.replaceAll("\\", "/"));

interface Import {
  file: string;
  /** Resolves an import to a package, or to a path from the project root. */
  target: string;
}

const resolveImport = (file: string, specifier: string) =>
  specifier.startsWith(".") ? path.posix.normalize(path.posix.join(path.posix.dirname(file), specifier)) : specifier;

const imports: Import[] = files.flatMap((file) =>
  [...readFileSync(path.join(root, file), "utf8").matchAll(/(?:from|import)\s*\(?\s*"([^"\s]+)"/g)].map((match) => ({
    file,
    target: resolveImport(file, match[1]!),
  })),
);
const packageOf = (file: string) => (file.startsWith("infra/") ? "infra" : file.split("/")[1]!);
const under = (...folders: string[]) => imports.filter(({ file }) => folders.some((folder) => file.startsWith(folder)));
const offenders = (list: Import[], isForbidden: (entry: Import) => boolean) =>
  list.filter(isForbidden).map(({ file, target }) => `${file} -> ${target}`);

/** Which package may import which. */
const ALLOWED: Record<string, RegExp> = {
  core: /^(packages\/core\/|migrations\/|node:|drizzle-orm|zod$|zod\/v4\/core$|pg$|@neondatabase\/serverless$|@electric-sql\/pglite$|re2js$|modern-tar$|yaml$|nodemailer$)/,
  openclaw: /^(packages\/openclaw\/|node:|@board\/core\/|drizzle-orm|ws$|zod$)/,
  api: /^(packages\/api\/|node:|@board\/(core|openclaw)\/|hono|@hono\/zod-validator$|@modelcontextprotocol\/server$|zod$|zod-openapi$|jose$|pino$)/,
  functions:
    /^(packages\/functions\/|node:|@board\/(core|openclaw|api|accounts)\/|@hono\/node-server$|zod$|@aws-sdk\/|@aws-lambda-powertools\/metrics$|aws-lambda$)/,
  cli: /^(packages\/cli\/|node:|@board\/client$|@board\/runner\/|commander$)/,
  /** The runner is a client like any other, and speaks the protocol of coding agents. */
  runner: /^(packages\/runner\/|node:|@board\/client$|@agentclientprotocol\/sdk$|zod$)/,
  client: /^(packages\/client\/|openapi-fetch$|eventsource-parser$|openapi-typescript$)/,
  /** Only accounts mode loads it. */
  accounts: /^(packages\/accounts\/|node:|@board\/core\/|drizzle-orm|zod$|better-auth|better-call$|@better-auth\/)/,
  local:
    /^(packages\/local\/|node:|@board\/(core|openclaw|api|client|accounts)\/|@board\/functions\/(manifest|body-bucket|file-bucket|event-bus|environment|queue-state)$|@hono\/node-server|@opentelemetry\/|croner$|zod$)/,
  /** The console is a client like any other. From the command line, it imports only the lines that connect an MCP client. */
  console:
    /^(packages\/console\/|preact(\/hooks|\/compat)?$|@preact\/signals$|marked$|dompurify$|oauth4webapi$|@board\/client\/|@board\/cli\/connection-lines$)/,
  infra: /^(infra\/|packages\/functions\/src\/manifest\.ts$|packages\/core\/src\/config\/(budgets|removed-settings)\.ts$)/,
};

test("functions and local import api, api imports openclaw, openclaw imports core, client, cli and console import none of them, and infra only plain data", () => {
  expect(offenders(imports, ({ file, target }) => !ALLOWED[packageOf(file)]!.test(target))).toEqual([]);
});

test("the client loads openapi-fetch and eventsource-parser and no other package, so that it runs in browsers", () => {
  const used = under("packages/client/").filter(({ file }) => file !== "packages/client/src/generate.ts");
  expect(
    offenders(used, ({ target }) => !/^packages\/client\/src\/(?!generate)|^(openapi-fetch|eventsource-parser)$/.test(target)),
  ).toEqual([]);
});

test("the manifest imports nothing, so that it can be loaded anywhere", () => {
  expect(under("packages/functions/src/manifest.ts")).toEqual([]);
});

test("one function sends messages to hosts, so that no text evades its check", () => {
  const senders = files.filter((file) => /request\([^)]*"chat\.send"/.test(readFileSync(path.join(root, file), "utf8")));
  expect(senders).toEqual(["packages/openclaw/src/host/session.ts"]);
});

/** An import that is followed when its file is loaded, unlike `import type` and `import()`. */
const STATIC_IMPORT = /^(?:import|export)\s(?!type\s)(?:[^"';]*?\bfrom\s*)?"([^"]+)"/gm;

test("OpenTelemetry is imported only in the telemetry folder, which is loaded only when the settings name a collector", () => {
  const TELEMETRY = "packages/local/src/telemetry/";
  const outside = imports.filter(({ file }) => !file.startsWith(TELEMETRY));
  expect(offenders(outside, ({ target }) => target.startsWith("@opentelemetry/"))).toEqual([]);
  const users = new Set(outside.filter(({ target }) => target.startsWith(TELEMETRY)).map(({ file }) => file));
  expect(users).toContain("packages/local/src/server.ts");
  const followed = [...users].flatMap((file) =>
    [...readFileSync(path.join(root, file), "utf8").matchAll(STATIC_IMPORT)].map(([, target]) => `${file} -> ${target}`),
  );
  expect(followed.length).toBeGreaterThan(10);
  expect(followed.filter((entry) => entry.includes("/telemetry/"))).toEqual([]);
});

const ACCOUNTS = "@board/accounts/";
const isBetterAuth = (target: string) => /^(?:better-auth|@better-auth)(?:\/|$)/.test(target);

/** Whether better-auth is loaded together with a file, by the file itself or by another file of the accounts package. */
function loadsBetterAuth(file: string, visited = new Set<string>()): boolean {
  if (visited.has(file)) return false;
  visited.add(file);
  const followed = [...readFileSync(path.join(root, file), "utf8").matchAll(STATIC_IMPORT)].map(([, specifier]) =>
    resolveImport(file, specifier!.replace(ACCOUNTS, "./")),
  );
  return followed.some(
    (target) => isBetterAuth(target) || (target.startsWith("packages/accounts/") && loadsBetterAuth(target, visited)),
  );
}

test("better-auth is imported only in the accounts package, which other packages load only inside functions, so that no other mode loads it", () => {
  const outside = imports.filter(({ file }) => packageOf(file) !== "accounts");
  expect(imports.filter(({ target }) => isBetterAuth(target)).length).toBeGreaterThan(10);
  expect(offenders(outside, ({ target }) => isBetterAuth(target))).toEqual([]);

  const users = [...new Set(outside.filter(({ target }) => target.startsWith(ACCOUNTS)).map(({ file }) => file))];
  expect(users).toEqual(expect.arrayContaining(["packages/functions/src/runtime.ts", "packages/local/src/server.ts"]));
  expect(loadsBetterAuth("packages/accounts/src/accounts.ts")).toBe(true);
  const loaded = users.flatMap((file) => {
    const text = readFileSync(path.join(root, file), "utf8");
    const followed = [...text.matchAll(STATIC_IMPORT)].map(([, specifier]) => specifier!);
    // The formatter begins each top-level statement in the first column, and only an async function may await within it.
    const atTopLevel = [...text.matchAll(/^\w(?:(?!^\w)[^])*?\bimport\(\s*"([^"]+)"/gm)].filter(
      ([part]) => !/\basync\b/.test(part),
    );
    return [...followed, ...atTopLevel.map(([, specifier]) => specifier!)]
      .filter((target) => target.startsWith(ACCOUNTS))
      .filter((target) => loadsBetterAuth(target.replace(ACCOUNTS, "packages/accounts/src/") + ".ts"))
      .map((target) => `${file} -> ${target}`);
  });
  expect(loaded).toEqual([]);
});

test("a table file imports only columns and other tables", () => {
  const tables = imports.filter(({ file }) => file.endsWith(".sql.ts"));
  expect(
    offenders(
      tables,
      ({ target }) => !/^drizzle-orm|\.sql(?:\.ts)?$|core\/src\/schema\/(?:columns|search-vector)\.ts$/.test(target),
    ),
  ).toEqual([]);
});

/** These files show or store the columns of rights, but do not use them to decide about access. */
const SHOW_RIGHTS =
  /^packages\/core\/src\/(?:schema\/|context\/(?:actor|prefetched-board)\.ts$|organization\/(?:member|member-access|invite|accept-invite|user)\.ts$)/;

test("only board-rights.ts knows which columns give a right to a board", () => {
  const readers = files.filter(
    (file) =>
      /^packages\/(core|api)\//.test(file) &&
      !SHOW_RIGHTS.test(file) &&
      /\b(?:can_read|can_write|all_boards_(?:read|write))\b/.test(readFileSync(path.join(root, file), "utf8")),
  );
  expect(readers).toEqual(["packages/core/src/organization/board-rights.ts"]);
});

/** Files that read rows of boards for an actor without an access condition, each with the reason why that is safe. */
const READ_WITHOUT_CONDITION: Readonly<Record<string, string>> = {
  "packages/core/src/agent/pull-gateway.ts": "an admin: agents of a gateway of the organization",
  "packages/core/src/agent/token-rotation.ts": "an admin: the runs of an agent that the admin may change, and jobs: their agent",
  "packages/core/src/budget/announce.ts": "an agent reports, or a budget changes: the boards where it was spent",
  "packages/core/src/budget/spend.ts": "an agent reports: the budgets under which it spends",
  "packages/core/src/gateway/target.ts": "an admin: agents of a gateway of the organization",
  "packages/core/src/inbox/inbox.ts": "an agent: its own messages",
  "packages/core/src/job/operate.ts": "an admin: the board of an agent of the organization's job",
  "packages/core/src/organization/accept-invite.ts": "the boards that the invite itself grants",
  "packages/core/src/organization/member-access.ts": "an admin: whether the boards belong to the organization",
  "packages/core/src/organization/remove.ts": "an admin: everything of the organization",
  "packages/core/src/run/report.ts": "an agent: its own runs",
  "packages/core/src/subscription/subscription.ts": "the owner is checked by its route (subscription/owner.ts)",
  "packages/core/src/task/field/custom-field.ts": "an admin binds a field to boards; counts of tasks with it",
  "packages/core/src/task/transition.ts": "writes of a task that the caller has locked",
  "packages/core/src/usage/host-usage.ts": "a job books for the agent that its payload names",
  "packages/core/src/usage/stop.ts": "an agent reports, or a budget changes: the runs of the organization under it",
  "packages/openclaw/src/gateway/gateway.ts": "an admin: what uses a gateway of the organization",
  "packages/openclaw/src/gateway/session-entry.ts": "an admin: agents of a gateway of the organization",
};

const CALLER = "User|Member|Agent|Admin|Lead|Main";
const HAS_CALLER = new RegExp(`Context<[^>]*\\b(?:${CALLER})\\b|actor: (?:${CALLER})\\b`);
const USES_RIGHTS = /\/(?:access|board-rights|notification-rights)(?:\.ts)?"/;

test("a file that reads rows of boards for an actor uses the conditions of access.ts, board-rights.ts or notification-rights.ts", () => {
  const schemas = files.filter((file) => file.endsWith(".sql.ts")).map((file) => readFileSync(path.join(root, file), "utf8"));
  const tables = schemas.flatMap((text) => [...text.matchAll(/export const (\w+) = pgTable\(\s*"[^"]+",\s*\{(.*?)\n {2}\}/gs)]);
  const ofBoards = ["boards", ...tables.filter(([, , columns]) => /\bboard_id:/.test(columns!)).map(([, name]) => name!)];
  const reads = new RegExp(`(?:(?:from|join|\\$count)\\(|(?:from|join) \\$\\{|table: )(?:${ofBoards.join("|")})\\b`, "i");
  expect(ofBoards).toEqual(expect.arrayContaining(["tasks", "approvals", "board_memory", "board_webhook_payloads"]));
  const unchecked = files.filter((file) => {
    const text = readFileSync(path.join(root, file), "utf8");
    return HAS_CALLER.test(text) && reads.test(text) && !USES_RIGHTS.test(text);
  });
  expect(unchecked.toSorted()).toEqual(Object.keys(READ_WITHOUT_CONDITION));
});

test("core and api never open a database driver", () => {
  const drivers = /core\/(src\/)?db\/(neon|postgres|pglite)(\.ts)?$/;
  expect(offenders(under("packages/core", "packages/api"), ({ target }) => drivers.test(target))).toEqual([]);
});

test("files outside of db send statements only through prepared.ts, prepared-write.ts and batch.ts", () => {
  const parts = /core\/(src\/)?db\/(?:pipeline|statement-group|statement-cache|row-mapper)(\.ts)?$/;
  const outside = imports.filter(({ file }) => !file.startsWith("packages/core/src/db/"));
  expect(offenders(outside, ({ target }) => parts.test(target))).toEqual([
    "packages/core/src/context/context.ts -> packages/core/src/db/pipeline.ts",
  ]);
});

test("only functions, local, the command line and infra read the environment", () => {
  const reading = files.filter((file) => /process\.env/.test(readFileSync(path.join(root, file), "utf8"))).map(packageOf);
  expect(new Set(reading)).toEqual(new Set(["cli", "functions", "infra", "local"]));
});

test("zod is imported as a namespace, which bundlers can tree-shake", () => {
  const bad = files.filter((file) => /import \{[^}]*\bz\b[^}]*\} from "zod"/.test(readFileSync(path.join(root, file), "utf8")));
  expect(bad).toEqual([]);
});

/**
 * The folders whose files write the tables of a schema file. The tables of a file that is not listed are written only by the
 * folder that its name begins with.
 */
const WRITERS: Readonly<Record<string, readonly string[]>> = {
  agent: ["agent", "provisioning", "coordination"],
  "board-access": ["organization"],
  "run-token": ["agent"],
  "change-seq": [],
  "config-lock": ["host"],
  "gateway-circuit": ["job"],
  gateway: ["gateway", "agent", "provisioning"],
  "group-memory": ["memory"],
  "rate-limit": ["db"],
  "saved-view": ["saved-view"],
  "service-key": ["db"],
  "task-transition": ["task", "metrics"],
  webhook: ["webhook", "body-storage", "job"],
  "webhook-body": ["body-storage", "webhook"],
  inbox: ["inbox", "notification"],
  slack: ["slack", "approval"],
  invite: ["organization"],
};

/** Writes of the query builder, of prepared inserts, and of SQL as text. */
const WRITE =
  /(?:\.(?:insert|update|delete)\(|prepareRows?Insert\(\s*"[^"]*",\s*|\b(?:insert into|update|delete from) \$\{)(\w+)/g;

test("a table is written only by files of the folder that its name begins with, or of the folders that WRITERS lists", () => {
  const owners = new Map<string, readonly string[]>();
  for (const file of files.filter((name) => name.endsWith(".sql.ts"))) {
    const name = path.posix.basename(file, ".sql.ts");
    for (const match of readFileSync(path.join(root, file), "utf8").matchAll(/export const (\w+) = pgTable/g))
      owners.set(match[1]!, WRITERS[name] ?? [name.split("-")[0]!]);
  }
  const shared = ["jobs"];
  const folderOf = (file: string) => file.split("/")[3]!;
  const bad = files.flatMap((file) =>
    [...readFileSync(path.join(root, file), "utf8").matchAll(WRITE)]
      .map((match) => match[1]!)
      .filter((table) => owners.has(table) && !shared.includes(table) && !owners.get(table)!.includes(folderOf(file)))
      .map((table) => `${file} writes ${table}`),
  );
  expect(bad).toEqual([]);
});

test("no module of core imports itself through others; type imports, which load nothing, do not count", () => {
  const edges = new Map<string, string[]>();
  for (const { file, target } of imports.filter(
    (entry) => packageOf(entry.file) === "core" && entry.target.startsWith("packages/core"),
  )) {
    // Type-only imports do not exist at run time.
    const text = readFileSync(path.join(root, file), "utf8");
    const typeOnly = new RegExp(`import type [^;]*"[^"]*${path.posix.basename(target).replace(".", "\\.")}"`).test(text);
    if (!typeOnly && !file.endsWith(".sql.ts")) edges.set(file, [...(edges.get(file) ?? []), target]);
  }
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (file: string, trail: string[]): void => {
    if (trail.includes(file)) circles.push([...trail.slice(trail.indexOf(file)), file].join(" -> "));
    if (trail.includes(file) || done.has(file)) return;
    for (const next of edges.get(file) ?? []) visit(next, [...trail, file]);
    done.add(file);
  };
  for (const file of edges.keys()) visit(file, []);
  expect(circles).toEqual([]);
});

test("only the snapshot of the newest migration is kept, because migrations are generated from it alone", () => {
  const { entries } = JSON.parse(readFileSync(path.join(root, "migrations/meta/_journal.json"), "utf8")) as {
    entries: { tag: string }[];
  };
  const newest = entries.at(-1)!.tag.split("_")[0];
  expect(globSync("*_snapshot.json", { cwd: path.join(root, "migrations/meta") })).toEqual([`${newest}_snapshot.json`]);
});
