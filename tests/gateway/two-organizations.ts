import { type FakeGateway, startFakeGateway } from "../support/fake-gateway/server.ts";
import { onTestFinished } from "vitest";
import { createWorld, type Tenant, type World } from "../support/world.ts";

/** The token of every host here, and its masked form in responses. */
export const TOKEN = "test-token-123";
export const MASKED = "********-123";
export type HostOptions = Omit<Parameters<typeof startFakeGateway>[0], "token">;

/** Two organizations, of which the first has a gateway with a running host. */
export interface TwoOrganizations {
  world: World;
  gateway: FakeGateway;
  home: Tenant;
  abroad: Tenant;
  /** Registers another gateway, in the home organization unless another user's token is given. Returns its id. */
  register(url: string, changed?: object, token?: string): Promise<string>;
  /** Creates a board in the home organization whose gateway is at the address. Returns its id. */
  addBoardAt(url: string, name: string): Promise<string>;
  close(): Promise<void>;
}

export async function startTwoOrganizations(options: HostOptions = {}): Promise<TwoOrganizations> {
  const world = await createWorld();
  const gateway = await startFakeGateway({ token: TOKEN, ...options });
  const home = await world.tenant("home", gateway.url);
  const neighbours: TwoOrganizations = {
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

/** Starts another host, which stops when the test ends. */
export async function startHost(options: HostOptions = {}): Promise<FakeGateway> {
  const started = await startFakeGateway({ token: TOKEN, ...options });
  onTestFinished(() => started.close());
  return started;
}
