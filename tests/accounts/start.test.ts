import { afterEach, expect, test } from "vitest";
import { cleanUpPrograms, dataFolder, runProgram, startProgram } from "../support/program.ts";

afterEach(cleanUpPrograms);

const signIn = (url: string, token: string) =>
  fetch(`${url}/api/auth/sign-in/link`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: url },
    body: JSON.stringify({ token }),
  });

test("the doctor prints a link that signs in as the owner once, in a data folder that was in local mode before", async () => {
  const folder = dataFolder();
  const before = startProgram("main", { DATA_DIR: folder, PORT: "0" });
  await before.waitForOutput(/is ready at (\S+)/);
  await before.stop();
  const environment = { DATA_DIR: folder, PORT: "0", AUTH_MODE: "accounts" };
  const printed = await runProgram("doctor", environment, ["--owner-link"]);
  expect([printed.code, printed.stderr]).toEqual([0, ""]);
  const token = /#link=(\S+)/.exec(printed.stdout)![1]!;
  const service = startProgram("main", environment);
  const [, url] = await service.waitForOutput(/is ready at (\S+)/);
  const answer = await signIn(url!, token);
  const cookie = answer.headers.getSetCookie().find((line) => line.startsWith("board.session_token="))!;
  expect(cookie).toMatch(/HttpOnly; SameSite=Lax/i);
  const me = await fetch(`${url}/api/v1/users/me`, { headers: { cookie: cookie.split(";")[0]! } });
  expect(await me.json()).toMatchObject({ clerk_user_id: "local-auth-user" });
  expect((await signIn(url!, token)).status).toBe(401);
  // Output that does not go to a terminal may be stored, so it must not show the link.
  expect(service.stdout).not.toContain("#link=");
}, 180_000);
