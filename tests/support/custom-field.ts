import type { Answer } from "./http.ts";
import type { Tenant, World } from "./world.ts";

export const FIELDS = "/api/v1/organizations/me/custom-fields";

/** Asks for a custom field of the tenant's board, or of those that `body` names. */
export const createField = (world: World, tenant: Tenant, body: object): Promise<Answer> =>
  world.call("POST", FIELDS, { token: tenant.owner.token, body: { board_ids: [tenant.board_id], ...body } });

/** A custom field that is there. */
export async function addField(world: World, tenant: Tenant, body: object): Promise<{ id: string; field_key: string }> {
  const made = await createField(world, tenant, body);
  if (made.status !== 200) throw new Error(`${FIELDS}: ${made.status} ${made.text}`);
  return made.body;
}
