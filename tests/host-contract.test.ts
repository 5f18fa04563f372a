import { afterAll, beforeAll, describe } from "vitest";
import { type DialectName, dialects } from "../packages/local/src/fake-gateway/dialect.ts";
import { startFakeGateway } from "../packages/local/src/fake-gateway/server.ts";
import { hostContract } from "./gateways/contract.ts";
import type { ContractHost } from "./gateways/real-host.ts";
import { openStage, type Stage } from "./gateways/stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage?.close());

/** The stand-in, held to what real hosts are held to by `npm run test:gateways`. All at once: what takes time are waits. */
describe.concurrent.each(Object.keys(dialects) as DialectName[])("a stand-in of %s", (release) => {
  hostContract({ release, stage: () => stage, start: () => start(release), patience_ms: 60_000 });
});

async function start(dialect: DialectName): Promise<ContractHost> {
  const token = "test-token-123";
  const fake = await startFakeGateway({ token, dialect, reply: () => "Understood." });
  fake.faults.restart_after_writes = true;
  // The wait after three patches would be a minute.
  fake.faults.patch_limit = null;
  return {
    url: fake.url,
    token,
    workspace_root: "/srv/agents",
    async away(work) {
      await fake.stop();
      try {
        await work();
      } finally {
        await fake.start();
      }
    },
    close: () => fake.close(),
  };
}
