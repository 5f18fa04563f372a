import { jobs } from "@board/core/schema/all-tables";
import { scheduled } from "@board/api/work/schedules";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { setupWorld } from "../support/fixtures.ts";
import { type FakeGateway, startFakeGateway } from "../support/fake-gateway/server.ts";
import { DIALECTS } from "../support/dialects.ts";
import {
  addAgent,
  addEmptyBoard,
  deliverConcurrently,
  filesOf,
  getAgentRow,
  listActivityTypes,
  listAgentJobs,
  messagesTo,
  type NewAgent,
  SECOND_MS,
  tokensOf,
} from "../support/provisioning.ts";
import type { Tenant } from "../support/world.ts";

const LOST = expect.stringContaining("gone from its host");

const world = await setupWorld();

describe.each(DIALECTS)("a host of version %s that was restarted with empty workspaces", (dialect) => {
  let host: FakeGateway;
  let home: Tenant;
  let ann: NewAgent;
  beforeAll(async () => {
    host = await startFakeGateway({ token: "test-token-123", dialect });
    home = await world.tenant(`home of ${dialect}`, host.url);
  });
  afterAll(() => host.close());
  beforeEach(async () => {
    ann = await addAgent(world, home, await addEmptyBoard(world, home));
    await deliverConcurrently(world);
    await world.call("GET", "/api/v1/agent/healthz", { agent: ann.auth_token });
    await world.db.delete(jobs);
    host.messages.length = 0;
  });

  const row = () => getAgentRow(world, ann.id);
  async function probe(): Promise<void> {
    await scheduled.probe(world.context());
    world.elapse(61 * SECOND_MS);
    await deliverConcurrently(world);
  }

  test("the next probe shows that an agent's files are gone, and the probe after it causes a new token and new files", async () => {
    await probe();
    expect((await row()).last_provision_error).toBeNull();
    host.host.files.clear();
    await probe();
    expect([await row(), (await listActivityTypes(world, ann.id)).at(-1)]).toMatchObject([
      { status: "online", last_provision_error: LOST },
      "agent.error",
    ]);
    await probe();
    expect(await row()).toMatchObject({ status: "online", last_provision_error: null });
    const [[, token] = []] = tokensOf(host, ann);
    expect(token).not.toBe(ann.auth_token);
    expect((await world.call("GET", "/api/v1/agent/healthz", { agent: token! })).body).toMatchObject({ agent_id: ann.id });
    expect(filesOf(host, ann).has("BOOTSTRAP.md")).toBe(true);
    expect(messagesTo(host, ann)).toHaveLength(1);
    const path = `/api/v1/audit?action=agent.token_rotated&target_id=${ann.id}`;
    const audit = await world.call("GET", path, { token: home.owner.token });
    expect(audit.body.items).toMatchObject([{ actor: { type: "system" }, target: { name: "Ann" } }]);
  });

  test("a sync with new tokens brings the files back, and the next probe shows that nothing is missing", async () => {
    host.host.files.clear();
    await probe();
    const path = `/api/v1/gateways/${home.gateway_id}/templates/sync?rotate_tokens=true`;
    expect((await world.call("POST", path, { token: home.owner.token })).status).toBeLessThan(300);
    await deliverConcurrently(world);
    await probe();
    expect(await row()).toMatchObject({ last_provision_error: null });
    expect(tokensOf(host, ann)).toHaveLength(1);
    expect(await listAgentJobs(world, "agent.provision", ann.id)).toEqual([]);
  });
});
