import { type FakeGateway, startFakeGateway } from "@board/local/fake-gateway/server";
import { onTestFinished } from "vitest";
import { createWorld, type Tenant, type World } from "./world.ts";

/** What every host here is let in with, and how answers show it. */
export const TOKEN = "test-token-123";
export const MASKED = "********-123";
export type HostOptions = Omit<Parameters<typeof startFakeGateway>[0], "token">;

/** Two organizations, the one with a host that is there. */
export interface Neighbours {
  world: World;
  gateway: FakeGateway;
  home: Tenant;
  abroad: Tenant;
  /** Registers one more gateway, at home unless the token is of somebody else. Returns its id. */
  register(url: string, changed?: object, token?: string): Promise<string>;
  /** A board at home whose gateway is at the address. Returns its id. */
  addBoardAt(url: string, name: string): Promise<string>;
  close(): Promise<void>;
}

export async function startNeighbours(options: HostOptions = {}): Promise<Neighbours> {
  const world = await createWorld();
  const gateway = await startFakeGateway({ token: TOKEN, ...options });
  const home = await world.tenant("home", gateway.url);
  const neighbours: Neighbours = {
    world,
    gateway,
    home,
    abroad: await world.tenant("abroad"),
    async register(url, changed = {}, token = home.owner.token) {
      const body = { name: "Host", url, workspace_root: "/srv", token: TOKEN, ...changed };
      return (await world.call("POST", "/api/v1/gateways", { token, body })).body.id;
    },
    async addBoardAt(url, name) {
      const body = { name, description: "A board", gateway_id: await neighbours.register(url) };
      return (await world.call("POST", "/api/v1/boards", { token: home.owner.token, body })).body.id;
    },
    async close() {
      await world.close();
      await gateway.close();
    },
  };
  return neighbours;
}

/** One more host, which ends with the test. */
export async function startHost(options: HostOptions = {}): Promise<FakeGateway> {
  const started = await startFakeGateway({ token: TOKEN, ...options });
  onTestFinished(() => started.close());
  return started;
}
