import { expect, test } from "vitest";
import { setup } from "../support/fixtures.ts";
import { addAgent, addEmptyBoard, filesOf as filesOnHost, getAgentRow, type NewAgent } from "../support/provisioning.ts";
import { openGatewayFixture } from "../support/gateway-fixture.ts";
import { type SyncFixture, startSyncFixture } from "../support/sync-fixture.ts";
import type { Answer } from "../support/http.ts";
import type { Tenant } from "../support/world.ts";
import { filesOf, subjectOf } from "./subject-fixture.ts";

const LONG = "x".repeat(100_000);
const REPEATED = "{{ user_context }}\n".repeat(5_000);
const SOUL_TOO_LARGE =
  "SOUL.md would have more than 400000 characters, mostly by the variable user_context. Shorten its template.";

const stage = await setup(openGatewayFixture());
const home = await stage.world.tenant("home", stage.host.url);
await writeContext(home);

async function writeContext({ owner }: Tenant): Promise<void> {
  const { status } = await stage.world.call("PATCH", "/api/v1/users/me", { ...owner, body: { context: LONG } });
  expect(status).toBe(200);
}

test("an agent whose soul repeats a long profile thousands of times fails with a reason, and another agent is provisioned", async () => {
  const { world, host } = stage;
  const board_id = await addEmptyBoard(world, home);
  const hungry: NewAgent = await addAgent(world, home, board_id, { name: "Hungry", soul_template: REPEATED });
  const modest: NewAgent = await addAgent(world, home, board_id, { name: "Modest" });
  await world.drain();
  expect(await getAgentRow(world, hungry.id)).toMatchObject({ last_provision_error: SOUL_TOO_LARGE });
  expect(filesOnHost(host, hungry).get("SOUL.md") ?? "").not.toContain("xxx");
  expect(await getAgentRow(world, modest.id)).toMatchObject({ last_provision_error: null });
  expect(filesOnHost(host, modest).get("SOUL.md")).toContain("Modest");
});

test("a sync reports the agent whose files would be too large, and writes the files of the other agents", async () => {
  const fixture: SyncFixture = await startSyncFixture(stage.world, "2026.9.6");
  await writeContext(fixture.home);
  const body = { soul_template: REPEATED };
  const path = `/api/v1/agents/${fixture.worker.id}`;
  const changed: Answer = await stage.world.call("PATCH", path, { ...fixture.home.owner, body });
  expect(changed.status).toBe(200);
  const { body: result } = await fixture.sync();
  expect(result.errors).toMatchObject([{ agent_id: fixture.worker.id, error: SOUL_TOO_LARGE }]);
  expect(result.synced_agents).toMatchObject([{ agent_id: fixture.lead.id }, { agent_id: fixture.main.id }]);
});

test("a soul may repeat a long text as long as the file stays within its limit", () => {
  const text = soulOf("{{ user_context }}".repeat(4), { agent_file_max_chars: 400_000, agent_files_max_chars: 1_000_000 });
  expect(text).toHaveLength(400_000);
});

test("text around the variables counts towards the limit of a file", () => {
  expect(() => soulOf("a".repeat(5_001), { agent_file_max_chars: 5_000, agent_files_max_chars: 100_000 })).toThrow(
    "SOUL.md would have more than 5000 characters. Shorten its template.",
  );
});

test("all files of an agent together have a limit, whose error names the file that reached it", () => {
  expect(() => soulOf("{{ user_context }}", { agent_file_max_chars: 200_000, agent_files_max_chars: 100_500 })).toThrow(
    "The files of the agent would have more than 100500 characters. The limit was reached in SOUL.md, mostly by the variable user_context.",
  );
});

const soulOf = (soul_template: string, limits: { agent_file_max_chars: number; agent_files_max_chars: number }): string =>
  filesOf(subjectOf("main", { agent: { soul_template }, user: { context: LONG } }), { limits })["SOUL.md"];
