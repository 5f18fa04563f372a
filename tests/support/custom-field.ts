import type { Answer } from "./http.ts";
import type { Tenant, World } from "./world.ts";

export const FIELDS = "/api/v1/organizations/me/custom-fields";

/** Sends a request that creates a custom field on the tenant's board, or on the boards in `body`. */
export const createField = (world: World, tenant: Tenant, body: object): Promise<Answer> =>
  world.call("POST", FIELDS, { token: tenant.owner.token, body: { board_ids: [tenant.board_id], ...body } });

/** Creates a custom field and throws when it is refused. */
export async function addField(world: World, tenant: Tenant, body: object): Promise<{ id: string; field_key: string }> {
  const created = await createField(world, tenant, body);
  if (created.status !== 200) throw new Error(`${FIELDS}: ${created.status} ${created.text}`);
  return created.body;
}
