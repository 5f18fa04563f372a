import { api_keys } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import type { Tenant, World } from "../../support/world.ts";
import { ALL_BOARDS, type BoardPlace, type Caller } from "./callers.ts";

type Access = "read" | "write" | "admin";

/** Creates callers with keys of each access, for all boards or one, of an organization or a person, and expired or revoked. */
export async function createKeyCallers(
  world: World,
  home: Tenant,
  stranger: Tenant,
  places: Record<BoardPlace, string>,
): Promise<Caller[]> {
  const create = async (token: string, path: string, access: Access, at: BoardPlace | "all", name: string) => {
    const body = { name, access, board_ids: at === "all" ? null : [places[at]] };
    return (await world.call("POST", path, { token, body })).body as { id: string; key: string };
  };
  const ofOrganization = (access: Access, at: BoardPlace | "all", name: string) =>
    create(home.owner.token, "/api/v1/keys", access, at, name);
  const caller = async (access: Access, at: BoardPlace | "all", name: string): Promise<Caller> =>
    toCaller(name, (await ofOrganization(access, at, name)).key, access, at);
  const person = await world.member("person with a key", home, "admin", { write: true });
  const personal = async (access: Access, at: BoardPlace | "all", name: string): Promise<Caller> =>
    toCaller(name, (await create(person.token, "/api/v1/users/me/keys", access, at, name)).key, access, at);
  const revoked = await ofOrganization("admin", "all", "revoked");
  await world.call("DELETE", `/api/v1/keys/${revoked.id}`, { token: home.owner.token });
  const expired = await ofOrganization("admin", "all", "expired");
  await world.db
    .update(api_keys)
    .set({ expires_at: new Date(0) })
    .where(eq(api_keys.id, expired.id));
  const abroad = (await world.call("POST", "/api/v1/keys", { token: stranger.owner.token, body: { name: "x", access: "admin" } }))
    .body;
  return [
    await caller("read", "all", "key that reads all boards"),
    await caller("read", "home", "key that reads the board"),
    await caller("write", "home", "key that writes to the board"),
    await caller("write", "elsewhere", "key that writes to another board"),
    await caller("admin", "all", "key of an admin"),
    await caller("admin", "elsewhere", "key of an admin for another board"),
    await personal("read", "all", "personal key that reads all boards"),
    await personal("admin", "home", "personal key of an admin for the board"),
    { name: "revoked key", options: { token: revoked.key }, is: "nobody", home: false, reads: [] },
    { name: "expired key", options: { token: expired.key }, is: "nobody", home: false, reads: [] },
    { ...toCaller("another's key", abroad.key, "admin", "all"), home: false, board: "none", reads: [] },
  ];
}

const toCaller = (name: string, token: string, access: Access, at: BoardPlace | "all"): Caller => ({
  name,
  options: { token },
  is: "user",
  home: true,
  key: access,
  role: access === "admin" ? "admin" : "member",
  board: at !== "all" && at !== "home" ? "none" : access === "read" ? "read" : "write",
  reads: at === "all" ? ALL_BOARDS : [at],
});
