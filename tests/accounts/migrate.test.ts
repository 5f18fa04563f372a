import { readFileSync } from "node:fs";
import { openPglite } from "@board/core/db/pglite";
import { silentLog } from "@board/core/values/log";
import { sql } from "drizzle-orm";
import path from "node:path";
import { afterEach, expect, test } from "vitest";
import { call } from "../support/http.ts";
import { cleanUpPrograms, dataFolder, runProgram, startProgram } from "../support/program.ts";
import { PASSWORD } from "./support.ts";

afterEach(cleanUpPrograms);

/** Starts the service on a folder, without a setting that chooses the authentication mode. */
async function start(folder: string) {
  const program = startProgram("main", { DATA_DIR: folder, PORT: "0", LOG_LEVEL: "error" });
  const [, url] = await program.waitForOutput(/ready at (http:\S+)/);
  await program.waitForOutput(/^ {2}data +/m);
  const token = readFileSync(path.join(folder, "secrets/local_auth_token"), "utf8").trim();
  const send = (method: string, at: string, body: object, cookie = "") =>
    fetch(url + at, {
      method,
      headers: { "content-type": "application/json", origin: url!, ...(cookie && { cookie }) },
      body: JSON.stringify(body),
    });
  const read = async (at: string, cookie?: string) =>
    (await (await fetch(url + at, { headers: cookie ? { cookie } : { authorization: `Bearer ${token}` } })).json()) as any;
  return {
    program,
    token,
    mode: (await read("/console/config.json")).auth.mode as string,
    read,
    post: (at: string, body: object) => call((to, init) => fetch(url + to, init), "POST", at, { token, body }),
    /** Signs in below /api/auth, and returns the cookie of the session. */
    async signIn(at: string, body: object): Promise<string> {
      const answer = await send("POST", `/api/auth${at}`, body);
      expect([at, answer.status]).toEqual([at, 200]);
      return answer.headers
        .getSetCookie()
        .find((line) => line.startsWith("board.session_token="))!
        .split(";")[0]!;
    },
    /** Reads everything that a migration must keep. */
    async readAll() {
      const [boards, members, me] = await Promise.all(
        ["/api/v1/boards", "/api/v1/organizations/me/members", "/api/v1/users/me"].map((at) => read(at)),
      );
      const people = members.items.map(({ id, role }: any) => `${id} ${role}`).toSorted();
      return { boards: boards.items, people, owner: me.id };
    },
    stop: () => program.stop(),
  };
}

const migrate = (folder: string, ...args: string[]) => runProgram("accounts-migrate", { DATA_DIR: folder }, args);
const BACK = "--back";

test("an old folder keeps its token until it is migrated, and repeated migrations in both directions keep people, memberships and boards", async () => {
  const folder = dataFolder();
  const old = await start(folder);
  expect([old.mode, old.program.stdout]).toEqual(["local", expect.stringContaining("npm run accounts:migrate")]);
  await old.post("/api/v1/boards", { name: "Harbour", description: "Ships", gateway: "pull" });
  const before = await old.readAll();
  const refused = await migrate(folder);
  expect(refused).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("is in use by process") });
  await old.stop();

  expect(await migrate(folder)).toMatchObject({ code: 0, stderr: "", stdout: expect.stringContaining("have accounts") });
  const first = await start(folder);
  expect([first.mode, first.token, await first.readAll()]).toEqual(["accounts", old.token, before]);
  const link = /#link=(\S+)/.exec(readFileSync(path.join(folder, "secrets/owner_link"), "utf8"))![1]!;
  const owner = await first.signIn("/sign-in/link", { token: link });
  expect((await first.read("/api/v1/users/me", owner)).id).toBe(before.owner);
  const invited_email = "ann@example.com";
  const { body } = await first.post("/api/v1/organizations/me/invites", { invited_email, all_boards_write: true });
  await first.signIn("/sign-up/invite", { token: body.token, name: "Ann", password: PASSWORD });
  const withAnn = await first.readAll();
  expect(withAnn.people).toHaveLength(2);
  await first.stop();
  expect(await migrate(folder)).toMatchObject({ code: 0, stdout: expect.stringContaining("in accounts mode already") });

  const back = await migrate(folder, BACK);
  expect(back).toMatchObject({ code: 0, stderr: "", stdout: expect.stringContaining("1 person cannot sign in") });
  const again = await start(folder);
  expect([again.mode, await again.readAll()]).toEqual(["local", withAnn]);
  // A folder that was migrated back to the shared token is not asked to migrate again.
  expect(again.program.stdout).not.toContain("accounts:migrate");
  await again.stop();

  expect(await migrate(folder)).toMatchObject({ code: 0, stderr: "" });
  const last = await start(folder);
  expect([last.mode, await last.readAll()]).toEqual(["accounts", withAnn]);
  const ann = await last.signIn("/sign-in/email", { email: invited_email, password: PASSWORD });
  expect((await last.read("/api/v1/boards", ann)).items).toEqual(before.boards);
  await last.stop();
}, 600_000);

test("a migration that would lock people out is refused with the reason, and changes nothing", async () => {
  const folder = dataFolder();
  const service = await start(folder);
  await service.post("/api/v1/boards", { name: "Harbour", description: "Ships", gateway: "pull" });
  await service.stop();
  const setIssuer = async (issuer: string) => {
    const database = await openPglite({ folder: path.join(folder, "database"), log: silentLog });
    await database.db.execute(sql`update users set auth_issuer = ${issuer}, auth_subject = 'someone'`);
    await database.close();
  };
  await setIssuer("https://id.example/");
  const forth = await migrate(folder);
  expect(forth).toMatchObject({ code: 1, stdout: "" });
  expect(forth.stderr).toContain("1 person of this service would have no way in");
  expect(forth.stderr).toContain("https://id.example/");
  await setIssuer("accounts");
  const back = await migrate(folder, BACK);
  expect(back).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("Nobody could sign in") });
});
