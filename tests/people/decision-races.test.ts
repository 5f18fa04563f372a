import { signDecision } from "@board/core/channel/decision";
import { inbox_messages, users } from "@board/core/schema/all-tables";
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { listApprovalEvents, requestApproval } from "../support/approval.ts";
import { renew, setup } from "../support/fixtures.ts";
import { openServerWorld } from "../support/postgres-world.ts";

const { world } = await setup(openServerWorld());
const home = renew((n) => world.tenant(`home-${n}`));

test.each([1, 2, 3, 4, 5])(
  "when three messages and the console decide at the same time, exactly one decision has an effect (round %i)",
  async () => {
    const { id: approval_id } = await requestApproval(world, home);
    const [owner] = await world.db.select().from(users).where(eq(users.auth_subject, home.owner.subject));
    const sign = () => signDecision(world.context(), { approval_id, board_id: home.board_id, user_id: owner!.id });
    const decide = (token: string, status: string) => world.call("POST", "/api/v1/decisions", { body: { token, status } });
    const [first, second, third] = [sign(), sign(), sign()];
    const answers = await Promise.all([
      decide(first, "approved"),
      decide(first, "approved"),
      decide(second, "rejected"),
      decide(third, "approved"),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(answers.filter(({ body }) => body.is_first)).toHaveLength(1);
    const resolved = (await listApprovalEvents(world, home.board_id)).filter(
      ({ event_type }) => event_type === "approval.resolved",
    );
    expect(resolved).toHaveLength(1);
    expect(await world.db.select().from(inbox_messages)).toEqual([]);
  },
);
