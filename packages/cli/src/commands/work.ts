import { setTimeout as pause } from "node:timers/promises";
import { Option } from "commander";
import { namesOfAgents } from "../agents.ts";
import { type AddCommands, readText, startRun } from "../cli.ts";
import { PROGRAM } from "../program.ts";
import { requireAgent, storeLease } from "../session.ts";
import { releaseTask, requireTaskId } from "../task-calls.ts";
import { printTask } from "../task-view.ts";
import { addUsageOptions, hasUsage, reportUsage, type UsageOptions } from "../usage-options.ts";
import { toSafeLine, toSafeText } from "../text.ts";
import { printPersonInbox } from "./people.ts";
import { heldTask, toCount } from "./tasks.ts";

/** Longest wait of one request to the inbox. */
const WAIT_SECONDS = 20;
/** Pause between requests to the inbox, because the service ends a wait early when another program waits for the same agent. */
const PAUSE_MS = 1_000;

interface InboxOptions {
  wait?: true | number;
  ack?: boolean;
  all?: boolean;
}

interface NextOptions extends UsageOptions {
  lease?: number;
  tags?: string[];
  parallel?: boolean;
}

interface ReleaseOptions {
  reason?: string;
  comment?: string;
}

/** The commands with which an agent works. */
export const addWork: AddCommands = (program, host) => {
  const next = program
    .command("next")
    .description("Take the next task: it is yours and in progress, under a lease that comments renew (agents)")
    .option("-l, --lease <seconds>", "length of the lease, 60 to 86400", toCount)
    .option("-t, --tags <slug...>", "only tasks with one of these tags")
    .option("-p, --parallel", "another task, although you hold one");
  addUsageOptions(next).action(async ({ lease, tags, parallel, ...usage }: NextOptions, command) => {
    const { output, openSession, options } = startRun(command, host);
    const session = await openSession();
    requireAgent(session, "Only agents take tasks.");
    // The usage was reported before the agent took a task, so it belongs to no task.
    if (hasUsage(usage)) await reportUsage(session, usage, null);
    const board = options.board === undefined ? {} : { board_id: await session.findBoardId() };
    const body = {
      ...board,
      ...(lease !== undefined && { lease_seconds: lease }),
      ...(tags && { tags }),
      ...(parallel && { parallel }),
    };
    const taken = await session.client.post("/api/v1/agent/tasks/next", { body });
    if (taken.task && taken.lease) storeLease(session, taken.task.id, taken.task.board_id, taken.lease.fence);
    const { task, comments, retry_after_seconds } = taken;
    const names = task && !output.json ? await namesOfAgents(session, task, comments) : new Map<string, string>();
    const why = taken.reason ? "The budget is spent, so there is no task now" : "There is no task now";
    output.result(taken, () => {
      if (task) printTask(output, task, comments, names);
      else output.line(`${why}. Ask again in ${retry_after_seconds} seconds, or wait with "${PROGRAM} inbox --wait".`);
    });
  });

  program
    .command("inbox")
    .description("Show what waits for you: the messages and tasks of an agent, or the notifications of a person")
    .option("-w, --wait [seconds]", "wait until there is work, at most this number of seconds (agents)", toCount)
    .option("--ack", "acknowledge the shown messages, so that they are not shown again")
    .option("--all", "also what was read (people)")
    .action(async ({ wait, ack, all }: InboxOptions, command) => {
      const { output, openSession } = startRun(command, host);
      const session = await openSession();
      if (session.identity.type === "user" && wait === undefined) return printPersonInbox(session, output, { all, ack });
      requireAgent(session, `Only agents wait for work. "${PROGRAM} watch" shows a person what changes.`);
      const ends_at = wait === undefined ? 0 : wait === true ? Number.POSITIVE_INFINITY : Date.now() + wait * 1000;
      const read = () => {
        const left = Math.ceil((ends_at - Date.now()) / 1000);
        return session.client.get("/api/v1/agent/inbox", {
          params: { query: { wait: Math.max(0, Math.min(WAIT_SECONDS, left)) } },
        });
      };
      let inbox = await read();
      while (!inbox.has_work && Date.now() < ends_at) {
        await pause(Math.min(PAUSE_MS, ends_at - Date.now()));
        inbox = await read();
      }
      const last = inbox.messages.at(-1);
      if (ack && last) await session.client.post("/api/v1/agent/inbox/ack", { body: { through: last.id } });
      output.result(inbox, () => {
        if (!inbox.has_work) output.line("Nothing waits for you.");
        // The whole message is printed, because it is not shown again once it is acknowledged.
        for (const { created_at, kind, text } of inbox.messages)
          output.line(`${created_at}  ${kind}\n${toSafeText(text).replaceAll(/^/gm, "  ")}`);
        for (const { id, status, title } of inbox.tasks) output.line(`${id}  ${status}  ${toSafeLine(title, 100)}`);
        if (inbox.counts.free > 0) output.line(`Free tasks: ${inbox.counts.free}. Take one with "${PROGRAM} next".`);
      });
    });

  program
    .command("release [task]")
    .description("Give a task back, so that another agent can take it. By default the task of your lease")
    .option("-m, --reason <text>", "why, and how far you got, as a comment; - reads standard input")
    .addOption(new Option("--comment <text>", "the same as --reason").hideHelp())
    .action(async (text: string | undefined, { reason, comment = reason }: ReleaseOptions, command) => {
      const { output, openSession, stdin } = startRun(command, host);
      const session = await openSession();
      requireAgent(session, "Only agents hold tasks.");
      const task_id = text === undefined ? heldTask(session) : requireTaskId(text);
      await releaseTask(session, task_id, comment && (await readText(stdin, comment)));
      output.result({ ok: true, task_id }, () => output.line(`Given back: ${task_id}`));
    });

  program
    .command("instructions")
    .description("Show how an agent works with its board")
    .action(async (_options, command) => {
      const { output, openSession } = startRun(command, host);
      const session = await openSession();
      requireAgent(session, "The instructions are those of an agent.");
      const text = await session.client.get("/api/v1/agent/instructions" as never, { parseAs: "text" } as never);
      output.result({ instructions: text }, () => output.line(String(text).trimEnd()));
    });
};
