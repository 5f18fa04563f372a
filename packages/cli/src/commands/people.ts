import { type AddCommands, type Host, startRun } from "../cli.ts";
import { UsageError } from "../failure.ts";
import type { Output } from "../output.ts";
import type { Session } from "../session.ts";
import { PROGRAM } from "../program.ts";
import { requireTaskId } from "../task-calls.ts";
import { toSafeLine } from "../text.ts";

const MAX_ITEMS = 100;

interface PersonInbox {
  all?: boolean | undefined;
  ack?: boolean | undefined;
}

/** Prints the notifications that a person has not read yet. */
export async function printPersonInbox({ client }: Session, output: Output, { all, ack }: PersonInbox): Promise<void> {
  const query = { limit: MAX_ITEMS, ...(all ? {} : { unread: true }) };
  const inbox = await client.get("/api/v1/users/me/inbox", { params: { query } });
  const ids = inbox.items.filter(({ read_at }) => read_at === null).map(({ id }) => id);
  if (ack && ids.length > 0) await client.post("/api/v1/users/me/inbox/read", { body: { ids } });
  output.result(inbox, () => {
    if (inbox.items.length === 0)
      output.line(all ? "Your inbox is empty." : `Nothing is unread. "${PROGRAM} inbox --all" shows the rest.`);
    for (const { created_at, title, text, status, type, subject_id, board_id } of inbox.items) {
      output.line(`${created_at}  ${toSafeLine(title, 200)}${status === null ? "" : ` (${status})`}`);
      if (text !== null) output.line(`  ${toSafeLine(text, 500)}`);
      const isOpen = status === "pending" && (type === "approval.requested" || type === "question.asked");
      if (isOpen) output.line(`  ${PROGRAM} --board ${board_id} approve ${subject_id}`);
    }
    if (inbox.next_cursor !== null) output.line(`These are the newest ${MAX_ITEMS}.`);
  });
}

const addFollow = (program: Parameters<AddCommands>[0], host: Host, name: "follow" | "unfollow", description: string) =>
  program
    .command(`${name} [task]`)
    .description(description)
    .action(async (text: string | undefined, _options: object, command) => {
      const { output, openSession } = startRun(command, host);
      const session = await openSession();
      if (session.identity.type === "agent") throw new UsageError("Only people follow boards and tasks. Sign in as a person.");
      const task_id = text === undefined ? null : requireTaskId(text);
      const board_id = await (task_id === null ? session.findBoardId() : session.findBoardIdOf(task_id));
      const answer = await setFollowing(session, board_id, task_id, name === "follow");
      const what = task_id === null ? "the board" : "the task";
      output.result(answer, () => output.line(answer.following ? `You follow ${what}.` : `You do not follow ${what} any more.`));
    });

function setFollowing({ client }: Session, board_id: string, task_id: string | null, following: boolean) {
  if (task_id === null) {
    const params = { path: { board_id } };
    const path = "/api/v1/boards/{board_id}/follow";
    return following ? client.put(path, { params }) : client.delete(path, { params });
  }
  const params = { path: { board_id, task_id } };
  const path = "/api/v1/boards/{board_id}/tasks/{task_id}/follow";
  return following ? client.put(path, { params }) : client.delete(path, { params });
}

/** The commands with which people choose what they are notified about. */
export const addFollowing: AddCommands = (program, host) => {
  addFollow(program, host, "follow", "Be notified of what happens on the board, or on one task (people)");
  addFollow(program, host, "unfollow", "Stop being notified of the board, or of one task (people)");
};
