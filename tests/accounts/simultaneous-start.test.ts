import { openAccounts } from "@board/accounts/accounts";
import { expect, test } from "vitest";
import { setupAccounts } from "./support.ts";

const { world, accounts, signInByLink } = await setupAccounts({ environment: { BASE_URL: "https://board.example" } });
const start = () => openAccounts(world.settings, () => world.runtime.createContext());

test("processes that start with an empty database at the same time all sign people in", async () => {
  const processes = Array.from({ length: 5 }, start);
  for (const link of await Promise.all(processes.map((accounts) => accounts.createOwnerLink())))
    expect((await signInByLink(link)).answer.status).toBe(200);
});

test("a process whose database failed at its first sign-in signs people in once the database works again", async () => {
  const link = await accounts.createOwnerLink();
  const process = start();
  const follow = () => {
    const request = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ token: link }) };
    return process.handle(world.runtime.createContext(), new Request("https://board.example/api/auth/sign-in/link", request));
  };
  await world.db.execute("alter table accounts.oauth_resource rename to away");
  await expect(follow()).rejects.toThrow(/oauth_resource/);
  await world.db.execute("alter table accounts.away rename to oauth_resource");
  expect((await follow()).status).toBe(200);
});
