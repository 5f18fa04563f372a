import { expect, test } from "vitest";
import { COMPLETION, createOnboarding, GOAL, QUESTION } from "../support/onboarding.ts";
import { setupWorld } from "../support/fixtures.ts";

const MAX_BYTES = 1_000_000;

const world = await setupWorld({ limits: { onboarding_max_bytes: MAX_BYTES } });

test("an onboarding at its size limit accepts no further message, and can still be confirmed", async () => {
  const home = await world.tenant("home");
  const onboarding = await createOnboarding(world, home);
  await onboarding.start();
  await onboarding.reply(COMPLETION);
  let last = await onboarding.answer({ answer: "x".repeat(100_000) });
  for (let n = 0; n < 20 && last.status === 200; n++) last = await onboarding.answer({ answer: "x".repeat(100_000) });
  const refusal = "Onboarding messages may have at most 1000000 bytes. Confirm the onboarding.";
  expect([last.status, last.body]).toEqual([409, { detail: refusal }]);
  const refused = await onboarding.reply({ ...QUESTION, question: "?".repeat(100_000) });
  expect([refused.status, refused.body]).toEqual([409, { detail: refusal }]);
  const stored = await onboarding.read();
  expect(stored.body.messages).toHaveLength(11);
  expect(Buffer.byteLength(JSON.stringify(stored.body.messages))).toBeLessThanOrEqual(MAX_BYTES);
  expect((await onboarding.confirm(GOAL)).status).toBe(200);
});
