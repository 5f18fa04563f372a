import { readFileSync } from "node:fs";
import path from "node:path";
import { afterEach, expect, test } from "vitest";
import { cleanUpPrograms, runProgram, startProgram, temporaryFolder } from "../support/program.ts";

afterEach(cleanUpPrograms);

const signIn = (url: string, token: string) =>
  fetch(`${url}/api/auth/sign-in/link`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: url },
    body: JSON.stringify({ token }),
  });

const LINK = /#link=(\S+)/;

test("a new folder starts with accounts: the link in its file signs the owner in once, and the doctor prints a new link", async () => {
  const environment = { DATA_DIR: temporaryFolder(), PORT: "0" };
  const service = startProgram("main", environment);
  const [, url] = await service.waitForOutput(/is ready at (\S+)/);
  // Browsers accept passkeys for names only, not for IP addresses.
  expect(url).toMatch(/^http:\/\/localhost:\d+$/);
  const [, file] = await service.waitForOutput(/^ {2}link +in (\S+)$/m);
  const [, tokenFile] = await service.waitForOutput(/^ {2}token +in (\S+)$/m);
  await service.waitForOutput(/^ {2}data +/m);
  const link = readFileSync(file!, "utf8");
  expect(link).toContain(`${url}/#link=`);
  const [, token] = LINK.exec(link)!;
  const answer = await signIn(url!, token!);
  const cookie = answer.headers.getSetCookie().find((line) => line.startsWith("board.session_token="))!;
  expect(cookie).toMatch(/HttpOnly; SameSite=Lax/i);
  const readMe = async (headers: Record<string, string>) => (await fetch(`${url}/api/v1/users/me`, { headers })).json();
  const owner = await readMe({ cookie: cookie.split(";")[0]! });
  expect(owner).toMatchObject({ clerk_user_id: "local-auth-user" });
  // The token for programs authenticates as this owner, so programs that were written for local mode continue to work.
  expect(await readMe({ authorization: `Bearer ${readFileSync(tokenFile!, "utf8").trim()}` })).toEqual(owner);
  expect((await signIn(url!, token!)).status).toBe(401);
  // The service listens at the loopback address only, which programs use too.
  const listening = readFileSync(path.join(environment.DATA_DIR, "service.url"), "utf8").trim();
  expect(listening).toBe(url!.replace("localhost", "127.0.0.1"));
  expect((await fetch(`${listening}/healthz`)).status).toBe(200);
  // Output that does not go to a terminal may be stored, so it must not show the link.
  expect(service.stdout + service.stderr).not.toMatch(/#link=|accounts:migrate/);
  await service.stop();
  const printed = await runProgram("doctor", environment, ["--owner-link"]);
  expect(printed).toMatchObject({ code: 0, stderr: "", stdout: expect.stringMatching(/http:\/\/localhost:\d+\/#link=\S+/) });
});
