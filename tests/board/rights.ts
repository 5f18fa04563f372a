import { organization_board_access } from "@board/core/schema/all-tables";
import type { Person, Tenant, World } from "../support/world.ts";

/** The role of a member, the rights to all boards, and an override for one board. */
export interface Rights {
  role?: "owner" | "admin" | "member";
  read?: boolean;
  write?: boolean;
  board?: { can_read: boolean; can_write: boolean };
}

let people = 0;

/** Creates a person in the organization with these rights. */
export async function addPersonWithRights(
  world: World,
  { organization_id, board_id }: Pick<Tenant, "organization_id" | "board_id">,
  { role = "member", board, ...flags }: Rights,
): Promise<Person> {
  const person = await world.person(`person-${++people}`);
  const organization_member_id = await world.join(person, organization_id, role, flags);
  if (board) await world.db.insert(organization_board_access).values({ organization_member_id, board_id, ...board });
  return person;
}
