import { describe } from "vitest";
import { setup } from "../support/fixtures.ts";
import { type DialectName, dialects } from "../support/fake-gateway/dialect.ts";
import { startFakeGateway } from "../support/fake-gateway/server.ts";
import { hostContract } from "../proofs/gateways/contract.ts";
import type { ContractHost } from "../proofs/gateways/real-host.ts";
import { startRunningService } from "../support/running-service.ts";

const service = await setup(startRunningService());

/**
 * Runs the checks that `npm run test:gateways` makes with real hosts, here against the stand-in. All releases run at once,
 * because they mostly wait.
 */
describe.concurrent.each(Object.keys(dialects) as DialectName[])("the host stand-in of release %s", (release) => {
  hostContract({ release, stage: () => service, start: () => start(release), timeout_ms: 60_000, max_wakes: 1 });
});

async function start(dialect: DialectName): Promise<ContractHost> {
  const token = "test-token-123";
  const fake = await startFakeGateway({ token, dialect, reply: () => "Understood." });
  fake.faults.restart_after_writes = true;
  // The real limit would make the fourth patch wait for a minute.
  fake.faults.patch_limit = null;
  return {
    url: fake.url,
    token,
    workspace_root: "/srv/agents",
    async whileDown(work) {
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
