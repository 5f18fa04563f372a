import type { Approval } from "@board/core/approval/approval";
import { you } from "./cast.ts";
import { isAgreeable } from "./knowledge.ts";
import type { Setting } from "./setting.ts";
import { type Stage, wait } from "./stage.ts";

const READING_MS = 600;

/** The person sees on the board's stream what is asked for, as a page in a browser would, and decides. */
export async function playPerson(stage: Stage, { board_id, call, follow }: Setting): Promise<void> {
  const { screen, tally } = stage;
  const approvals = `/api/v1/boards/${board_id}/approvals`;
  for await (const { approval } of follow<{ approval: Approval }>(`${approvals}/stream`)) {
    const { id, status, task_id, description } = approval;
    if (status !== "pending" || !task_id) continue;
    await wait(stage, READING_MS);
    const decision = isAgreeable(description ?? "") ? "approved" : "rejected";
    tally.stirs(task_id);
    await call<Approval>("PATCH", `${approvals}/${id}`, { status: decision });
    tally.decided();
    screen.tell(you, `${decision === "approved" ? "approve" : "reject"} ${tally.numberOf(task_id)}`);
  }
}
