import { you } from "./participants.ts";
import { isApprovable } from "./canned-answers.ts";
import type { DemoBoard } from "./setup.ts";
import { type DemoContext, wait } from "./demo-context.ts";

const READING_MS = 600;

/** Follows the approval stream of the board, as a page in a browser would, and decides each request. */
export async function runPerson(demo: DemoContext, { board_id, api }: DemoBoard): Promise<void> {
  const { log, statistics } = demo;
  const approvals = api.stream("/api/v1/boards/{board_id}/approvals/stream", { params: { path: { board_id } } });
  for await (const { data } of approvals) {
    const { id: approval_id, status, task_id, description } = data.approval;
    if (status !== "pending" || !task_id) continue;
    await wait(demo, READING_MS);
    const decision = isApprovable(description ?? "") ? "approved" : "rejected";
    statistics.recordCause(task_id);
    await api.patch("/api/v1/boards/{board_id}/approvals/{approval_id}", {
      params: { path: { board_id, approval_id } },
      body: { status: decision },
    });
    statistics.recordDecision();
    log.write(you, `${decision === "approved" ? "approve" : "reject"} ${statistics.taskLabel(task_id)}`);
  }
}
