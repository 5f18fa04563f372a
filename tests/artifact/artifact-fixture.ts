/** Files for tasks: announced, uploaded and read over HTTP. */
import { createHash } from "node:crypto";
import type { Answer, CallOptions } from "../support/http.ts";
import type { Tenant, World } from "../support/world.ts";

export const sha256 = (content: Uint8Array | string): string => createHash("sha256").update(content).digest("hex");
export const base64 = (content: Uint8Array | string): string => Buffer.from(content).toString("base64");

/** Returns the bytes of a response, which the fixture's `call` would decode as text. */
export async function download(world: World, url: string, { token, headers = {} }: CallOptions) {
  const response = await world.app.request(url, { headers: { authorization: `Bearer ${token}`, ...headers } });
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
}

export function artifactsOf(world: World, tenant: Tenant, task_id: string) {
  const { token } = tenant.owner;
  const ofTask = `/api/v1/boards/${tenant.board_id}/tasks/${task_id}/artifacts`;
  const item = (id: string) => `/api/v1/boards/${tenant.board_id}/artifacts/${id}`;
  return {
    ofTask,
    item,
    add: (body: object, who: CallOptions = { token }): Promise<Answer> => world.call("POST", ofTask, { ...who, body }),
    announce: (content: Uint8Array, name = "file.bin", more: object = {}): Promise<Answer> =>
      world.call("POST", ofTask, { token, body: { name, size: content.length, sha256: sha256(content), ...more } }),
    upload: (id: string, raw: Uint8Array): Promise<Answer> => world.call("PUT", `${item(id)}/content`, { token, raw }),
    complete: (id: string): Promise<Answer> => world.call("POST", `${item(id)}/complete`, { token }),
    content: (id: string, headers: Record<string, string> = {}) => download(world, `${item(id)}/content`, { token, headers }),
    list: async (): Promise<{ name: string; status: string }[]> => (await world.call("GET", ofTask, { token })).body.items,
  };
}
