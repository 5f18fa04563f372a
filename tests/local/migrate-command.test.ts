import { readSchemaState } from "@board/core/db/database";
import { openPostgres } from "@board/core/db/postgres";
import { silentLog } from "@board/core/values/log";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { cleanUpPrograms, runProgram, temporaryFolder } from "../support/program.ts";
import { copyTemplate } from "../support/test-database.ts";

afterAll(cleanUpPrograms);

const migrate = (environment: Record<string, string>) => runProgram("migrate", { DATA_DIR: temporaryFolder(), ...environment });
const DONE = { code: 0, stdout: "The schema of the database is the one of this version.\n", stderr: "" };

test("npm run migrate brings an empty database to this version, even when several run at once, and changes nothing when it is repeated", async () => {
  const empty = await copyTemplate("template1");
  const { url } = empty;
  onTestFinished(() => empty.drop());
  expect(await Promise.all([migrate({ DATABASE_URL: url }), migrate({ DATABASE_URL: url })])).toMatchObject([DONE, DONE]);
  expect(await migrate({ DATABASE_URL: url })).toMatchObject(DONE);
  const database = openPostgres(url, { log: silentLog });
  expect(await readSchemaState(database.db)).toBe("current");
  await database.close();
});

test("npm run migrate without DATABASE_URL says that the start migrates the embedded database", async () => {
  expect(await migrate({})).toMatchObject({
    code: 2,
    stdout: "",
    stderr: "Set DATABASE_URL. The embedded database is migrated by every start.\n",
  });
});

test("npm run migrate names the remedy when the database does not answer, and never prints the password", async () => {
  const refused = await migrate({ DATABASE_URL: "postgres://board:secret-word@127.0.0.1:9/board" });
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toMatch(/^The database does not answer: .*DATABASE_URL\.\n$/);
  expect(refused.stderr).not.toContain("secret-word");
});
