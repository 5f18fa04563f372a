import { you } from "./cast.ts";
import { isAgreeable } from "./knowledge.ts";
import type { Setting } from "./setting.ts";
import { type Stage, wait } from "./stage.ts";

const READING_MS = 600;

/** The person sees on the board's stream what is asked for, as a page in a browser would, and decides. */
export async function playPerson(stage: Stage, { board_id, api }: Setting): Promise<void> {
  const { screen, tally } = stage;
  const asked = api.stream("/api/v1/boards/{board_id}/approvals/stream", { params: { path: { board_id } } });
  for await (const { data } of asked) {
    const { id: approval_id, status, task_id, description } = data.approval;
    if (status !== "pending" || !task_id) continue;
    await wait(stage, READING_MS);
    const decision = isAgreeable(description ?? "") ? "approved" : "rejected";
    tally.stirs(task_id);
    await api.patch("/api/v1/boards/{board_id}/approvals/{approval_id}", {
      params: { path: { board_id, approval_id } },
      body: { status: decision },
    });
    tally.decided();
    screen.tell(you, `${decision === "approved" ? "approve" : "reject"} ${tally.numberOf(task_id)}`);
  }
}
