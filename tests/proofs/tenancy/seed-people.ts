import { artifacts, channels, follows, notification_preferences, runs, user_notifications } from "@board/core/schema/all-tables";
import type { AlertType } from "@board/core/context/alert";
import { sql } from "drizzle-orm";
import type { World } from "../../support/world.ts";
import type { Caller } from "./callers.ts";
import type { Ids } from "./seed-tenant.ts";

/** The maximum number of browsers of a person, and of keys in one organization. */
const MAX_BROWSERS = 20;
const MAX_KEYS = 1_000;

interface Places {
  known: Ids;
  elsewhere: Ids;
  neighbour: Ids;
  theirs: Ids;
}

/**
 * Stores what people have besides their rights: notifications, preferences, browsers and followed boards. An extra person has the
 * maximum number of browsers, and an extra organization without callers has the maximum number of API keys. Returns the id of a
 * notification of the caller "another owner".
 */
export async function seedPeople(world: World, callers: readonly Caller[], places: Places): Promise<Ids> {
  const idOf = await identify(world, callers);
  const { db } = world;
  const { organization_id, board_id } = places.elsewhere;
  const user_id = idOf("member who reads all boards");
  await db.insert(follows).values({ organization_id: organization_id!, board_id: board_id!, user_id, following: true });
  // These followers of a task of the home board have lost their rights.
  const lost = {
    organization_id: places.known.organization_id!,
    board_id: places.known.board_id!,
    task_id: places.known.task_id!,
  };
  for (const name of ["member without boards", "member who writes to another board"])
    await db.insert(follows).values({ ...lost, user_id: idOf(name), following: true });
  const choices = { digest_time: "07:30", time_zone: "Asia/Tokyo", choices: {} };
  await db.insert(notification_preferences).values({ ...choices, user_id: idOf("another owner") });
  const slack = { type: "slack" as const, address_digest: "theirs", organization_id: places.theirs.organization_id! };
  await db.insert(channels).values({ ...slack, user_id: idOf("another owner") });
  await seedManyBrowsers(world);
  await seedManyKeys(world);
  return seedNotifications(world, idOf, places);
}

async function identify(world: World, callers: readonly Caller[]): Promise<(name: string) => string> {
  const ids = new Map<string, string>();
  for (const { name, is, key, options } of callers)
    if (is === "user" && !key) ids.set(name, (await world.call("GET", "/api/v1/users/me", options)).body.id);
  return (name) => ids.get(name)!;
}

/** Stores notifications that people see, and inconsistent or outdated ones that must show nothing, or no text of other owners. */
async function seedNotifications(
  { db }: World,
  idOf: (name: string) => string,
  { known, elsewhere, neighbour, theirs }: Places,
): Promise<Ids> {
  const add = async (name: string, type: AlertType, place: Ids, about: Ids): Promise<string> => {
    const { organization_id } = place;
    const values = { subject_id: crypto.randomUUID(), ...about, organization_id: organization_id!, user_id: idOf(name), type };
    const [row] = await db
      .insert(user_notifications)
      .values({ ...values, actor_type: "system", key: crypto.randomUUID() })
      .returning();
    return row!.id;
  };
  const at = ({ board_id }: Ids): Ids => ({ board_id: board_id! });
  const inGroup = ({ group_id }: Ids): Ids => ({ subject_id: group_id! });
  await add("owner", "approval.requested", known, { ...at(known), subject_id: known.approval_id! });
  // Each of these notifications names a row of another board or organization.
  await add("owner", "approval.requested", known, { ...at(known), subject_id: elsewhere.approval_id! });
  await add("owner", "task.blocked", known, { ...at(known), task_id: theirs.task_id! });
  await add("owner", "budget.warned", known, at(theirs));
  await add("owner", "gateway.down", known, { subject_id: theirs.gateway_id! });
  await add("owner", "delivery.dead", known, { subject_id: theirs.subscription_id! });
  await add("owner", "mention", known, inGroup(theirs));
  // The owner is no member of the other organization.
  await add("owner", "budget.warned", theirs, at(theirs));
  await add("owner", "gateway.down", theirs, { subject_id: theirs.gateway_id! });
  await add("owner", "mention", theirs, inGroup(known));
  // These members have lost their rights.
  await add("member without boards", "budget.warned", known, at(known));
  await add("member without boards", "gateway.down", known, { subject_id: known.gateway_id! });
  await add("member without boards", "mention", known, inGroup(known));
  await add("member who reads the board", "budget.warned", known, at(elsewhere));
  await add("member who writes to another board", "mention", known, inGroup(known));
  // Admins see groups without boards.
  await add("admin without boards", "mention", known, inGroup(neighbour));
  return { notification_id: await add("another owner", "budget.warned", theirs, at(theirs)) };
}

async function seedManyBrowsers(world: World): Promise<void> {
  const { token } = await world.person("person with many browsers");
  const { id: user_id } = (await world.call("GET", "/api/v1/users/me", { token })).body;
  const browsers = Array.from({ length: MAX_BROWSERS }, (_, at) => ({ user_id, type: "push" as const, address_digest: `${at}` }));
  await world.db.insert(channels).values(browsers);
}

async function seedManyKeys({ db }: World): Promise<void> {
  await db.execute(sql`
    with full_one as (insert into organizations (name) values ('Full of keys') returning id),
      service as (insert into users (auth_subject, service_organization_id)
        select 'key ' || number, full_one.id from full_one, generate_series(1, ${MAX_KEYS}) as number returning id, service_organization_id)
    insert into api_keys (id, organization_id, access, prefix) select id, service_organization_id, 'read', 'none' from service`);
}

/** Stores a file and a run of a task of the home board that belong to another board. */
export async function seedForeignResults({ db }: World, { task_id, agent_id }: Ids, elsewhere: Ids): Promise<void> {
  const place = { board_id: elsewhere.board_id!, task_id: task_id! };
  await db.insert(artifacts).values({
    ...place,
    organization_id: elsewhere.organization_id!,
    name: "elsewhere.txt",
    content_type: "text/plain",
    size: 1,
    sha256: "0".repeat(64),
    status: "ready",
    content: Buffer.from("x"),
  });
  const now = new Date();
  const ended = { status: "released" as const, started_at: now, ended_at: now };
  await db.insert(runs).values({ ...place, agent_id: agent_id!, agent_name: "Elsewhere", fence: 100, ...ended });
}
