import type { Database } from "@board/core/db/database";
import { openPostgres } from "@board/core/db/postgres";
import { silentLog } from "@board/core/values/log";
import pg from "pg";
import { inject } from "vitest";
import { administer, COPY_STRATEGY } from "./postgres.ts";

let databases = 0;

/** Statements that do not belong to an operation. */
const IGNORED_STATEMENTS = /^(begin|commit|rollback|savepoint|release savepoint)\b/i;

/** Returns the URL of this worker's server. */
const serverUrl = () => {
  const servers = inject("servers");
  return servers[(Number(process.env["VITEST_POOL_ID"] ?? 1) - 1) % servers.length]!;
};

/** Copies the migrated database, or another template on this worker's server, and returns the copy's name and URL. */
export async function copyTemplate(template = inject("template")): Promise<{ name: string; url: string; drop(): Promise<void> }> {
  const name = `world-${process.pid}-${databases++}`;
  const admin = `${serverUrl()}/postgres`;
  const source = pg.escapeIdentifier(template);
  await administer(admin, `create database ${pg.escapeIdentifier(name)} template ${source} ${COPY_STRATEGY}`);
  return {
    name,
    url: `${serverUrl()}/${name}`,
    drop: () => administer(admin, `drop database ${pg.escapeIdentifier(name)} with (force)`),
  };
}

export interface CopyOptions {
  /** The time zone of the database's sessions; by default UTC. */
  time_zone?: string;
}

/** Opens a copy of the migrated database, which is dropped when it is closed. */
export async function openCopy(statements: string[], { time_zone }: CopyOptions = {}): Promise<Database> {
  const copy = await copyTemplate();
  if (time_zone)
    await administer(copy.url, `alter database ${pg.escapeIdentifier(copy.name)} set timezone to ${pg.escapeLiteral(time_zone)}`);
  const onQuery = (text: string) => IGNORED_STATEMENTS.test(text) || statements.push(text);
  const database = openPostgres(copy.url, { log: silentLog, onQuery });
  return {
    ...database,
    async close() {
      await database.close();
      await copy.drop();
    },
  };
}
