import type { Task } from "@board/client";
import { hostname } from "node:os";
import { type AgentSessionOptions, runAgent, type SessionResult } from "./agent-session.ts";
import { toAgentEnvironment } from "./agent-command.ts";
import { type BoardService, handleOf, isLeaseLost, type TakenTask } from "./board-service.ts";
import type { Journal, RunEnding, RunLink } from "./journal.ts";
import { keepLease } from "./lease-keeper.ts";
import type { RunnerHost, RunnerOptions } from "./options.ts";
import { openPermissionDesk } from "./permission.ts";
import { writePrompt } from "./prompt.ts";
import { openPullRequest } from "./pull-request.ts";
import { untilAnswered } from "./retry.ts";
import { createStepMapper } from "./session-update.ts";
import { watchStall } from "./stall.ts";
import { keepSteps } from "./step-keeper.ts";
import { startStepSender } from "./step-sender.ts";
import { cutText, type UsageEntry } from "./step.ts";
import { storeEnding, tellEnding } from "./run-ending.ts";
import { attachDiff } from "./work-diff.ts";
import { collectWork, type WorkResult } from "./work-result.ts";
import { openInPlace, openWorktree, type Repository, type TaskFolder } from "./worktree.ts";

/** What is needed to work on a task. */
export interface TaskRunContext {
  service: BoardService;
  options: RunnerOptions;
  host: RunnerHost;
  repository: Repository | null;
  /** Aborted when the runner should stop. The agent then cancels, and the task is released. */
  stopping: AbortSignal;
  /** Aborted at the second signal. The agent is then killed. */
  killing: AbortSignal;
  onStep: (text: string) => void;
  onCost: (usd: number) => void;
}

/** Why a run ended early, if the agent did not end it. */
type Interruption = { type: "stopped" } | { type: "lost"; reason: string } | { type: "moved"; task: Task } | { type: "stalled" };

/** Works on a task that this runner has taken, until the service has stored how the work ended. */
export async function runTask(context: TaskRunContext, { task, comments }: TakenTask, journal: Journal): Promise<void> {
  const { service, host, options } = context;
  const { facts } = journal;
  const print = (text: string) => host.print({ event: "run", text, task_id: task.id, run_id: facts.run_id });
  const sender = startStepSender(journal, (from, steps) => service.sendSteps(facts.run_id, from, steps));
  const interrupted = new AbortController();
  let interruption: Interruption | null = null;
  const interrupt = (why: Interruption) => {
    interruption ??= why;
    interrupted.abort();
  };
  const lease = keepLease(service, handleOf(facts), options.lease_seconds, {
    onLost: (reason) => interrupt({ type: "lost", reason }),
    onMoved: (moved) => interrupt({ type: "moved", task: moved }),
  });
  const onStop = () => interrupt({ type: "stopped" });
  context.stopping.addEventListener("abort", onStop, { once: true });
  if (context.stopping.aborted) onStop();
  let folder = null as TaskFolder | null;
  try {
    const ending = await workToEnding().catch((error: unknown): RunEnding => {
      if (context.killing.aborted) throw error;
      if (isLeaseLost(error)) return toLost("The lease is lost.", folder, []);
      return giveBack(`The runner could not do it: ${(error as Error).message}`);
    });
    storeEnding(journal, ending, print);
    lease.stop();
    const isDelivered = await sender.finish(context.killing);
    if (ending.move === "review" && folder) {
      const problem = await attachDiff(service, handleOf(facts), facts.run_id, folder, context.killing);
      if (problem !== null) print(problem);
    }
    await tellEnding(service, journal, ending, context.killing);
    print(describeEnding(ending, interruption, isDelivered));
  } finally {
    lease.stop();
    sender.stop();
    context.stopping.removeEventListener("abort", onStop);
    folder?.release();
  }

  async function workToEnding(): Promise<RunEnding> {
    folder = await openFolder(context, task);
    journal.add({ line: "folder", path: folder.path, branch: folder.branch });
    print(`works in ${folder.path}`);
    const said = await work(context, { task, comments, journal, folder, interrupt, signal: interrupted.signal, print }).catch(
      (error: unknown): Said => {
        if (!interruption || context.killing.aborted) throw error;
        return { result: { outcome: "failed", reason: "The run was cancelled." }, message: "", used: null };
      },
    );
    const result = await collectWork(folder, toSubject(task)).catch((error: unknown): WorkResult => {
      print(`the work could not be committed: ${(error as Error).message}`);
      return { has_changes: true, links: [] };
    });
    const told = await toEnding(context, { task, folder, said, result, interruption, print });
    return { ...told, usage: said.used };
  }
}

interface Work {
  task: Task;
  comments: TakenTask["comments"];
  journal: Journal;
  folder: TaskFolder;
  interrupt: (why: Interruption) => void;
  signal: AbortSignal;
  print: (text: string) => void;
}

interface Said {
  result: SessionResult;
  message: string;
  /** The usage that the agent reported. */
  used: (UsageEntry & { key: string }) | null;
}

async function work(context: TaskRunContext, { task, comments, journal, folder, interrupt, signal, print }: Work): Promise<Said> {
  const { service, options, host } = context;
  const { facts } = journal;
  const keep = keepSteps(journal, print);
  const steps = createStepMapper((step) => {
    keep(step);
    context.onStep(step.kind === "tool_call" ? (step.title ?? "") : "text" in step ? step.text : step.kind);
  });
  const stall = watchStall(options.stall_ms, () => interrupt({ type: "stalled" }));
  const desk = openPermissionDesk({
    service,
    handle: handleOf(facts),
    run_id: facts.run_id,
    policy: options.policy,
    folder: folder.path,
    steps,
    timeout_ms: options.ask_timeout_ms,
    print,
    onWaiting: (isWaiting) => (isWaiting ? stall.pause() : stall.resume()),
  });
  try {
    const [token, instructions] = await Promise.all([
      untilAnswered(() => service.mintRunToken(facts.run_id), signal),
      untilAnswered(() => service.readInstructions(), signal),
    ]);
    const board = token === null ? null : { url: service.url, token };
    const { protocol } = options.command;
    const env = toAgentEnvironment(host.environment, options.command);
    // A command that speaks no protocol gets no tools, but it may call the service itself.
    if (protocol === "exec" && board) Object.assign(env, { BOARD_URL: board.url, BOARD_TOKEN: board.token });
    const prompt = writePrompt({
      instructions,
      task,
      comments,
      has_tools: board !== null,
      folder: folder.path,
      branch: folder.branch,
    });
    const session: AgentSessionOptions = {
      command: options.command,
      cwd: folder.path,
      env,
      board,
      steps: {
        ...steps,
        update(update) {
          if (update.sessionUpdate === "tool_call" || update.sessionUpdate === "tool_call_update") desk.noteToolCall(update);
          steps.update(update);
        },
      },
      onStarted: (leader) => journal.add({ line: "process", leader }),
      onSign: () => stall.sign(),
      onAgent(info) {
        const client = { name: info.name, ...(info.version ? { version: info.version } : {}), host: hostname() };
        service.describeRun(facts.run_id, { client }).catch(() => {});
      },
      askPermission: (request, asked) => desk.decide(request, AbortSignal.any([asked, signal])),
      signal,
      killing: context.killing,
    };
    const result = await runAgent(session, prompt);
    const cost = steps.cost();
    const usage = result.outcome === "finished" ? result.usage : null;
    const used =
      usage || cost !== null ? { key: `run:${facts.run_id}`, ...usage, ...(cost === null ? {} : { cost_usd: cost }) } : null;
    if (used) steps.usage(used);
    if (cost !== null) context.onCost(Number(cost));
    return { result, message: steps.lastMessage(), used };
  } finally {
    stall.stop();
    steps.flush();
  }
}

async function openFolder({ repository, options }: TaskRunContext, task: Task): Promise<TaskFolder> {
  if (!repository || options.in_place) return openInPlace(options.folder);
  return openWorktree(repository, task, baseOf(task) ?? options.base);
}

/** Returns the branch or tag that the task's custom field `base` names. */
function baseOf(task: Task): string | null {
  const value = (task.custom_field_values as Record<string, unknown> | null | undefined)?.["base"];
  return typeof value === "string" && value !== "" ? value : null;
}

/** Creates the message of a commit, in one line. Git gets it as the value of `--message`, so a title cannot act as an option. */
const toSubject = (task: Task): string =>
  `${task.title.replaceAll(/[\p{Cc}\s]+/gu, " ").slice(0, 60)} (task ${task.id.slice(0, 8)})`;

const giveBack = (comment: string): RunEnding => ({
  key: crypto.randomUUID(),
  comment,
  move: "release",
  links: [],
  reason: cutText(comment, 400),
});

const whereKept = (folder: TaskFolder | null): string =>
  folder?.branch ? ` The work so far is on the branch ${folder.branch}.` : "";

/**
 * Returns the ending of a run whose lease is lost. Somebody else may hold the task, so no comment is posted. The reason says on
 * which branch the work is.
 */
const toLost = (reason: string, folder: TaskFolder | null, links: RunLink[]): RunEnding => ({
  key: crypto.randomUUID(),
  comment: null,
  move: null,
  links,
  // The service refuses a reason of more than 500 characters, and would refuse the links together with the reason.
  reason: `${cutText(reason, 300)}${whereKept(folder)}`,
});

interface Finished {
  task: Task;
  folder: TaskFolder;
  said: Said;
  result: WorkResult;
  interruption: Interruption | null;
  print: (text: string) => void;
}

async function toEnding(context: TaskRunContext, finished: Finished): Promise<RunEnding> {
  const { folder, said, result, interruption, task, print } = finished;
  const { links } = result;
  const kept = whereKept(folder);
  if (interruption?.type === "lost") return toLost(interruption.reason, folder, links);
  if (interruption?.type === "stopped")
    return { ...giveBack(`The runner was stopped, so the task is free again.${kept}`), links };
  if (interruption?.type === "stalled") {
    const minutes = Math.round(context.options.stall_ms / 6_000) / 10;
    return { ...giveBack(`The agent was silent for ${minutes} minutes, so it was ended.${kept}`), links };
  }
  if (interruption?.type === "moved") return { key: crypto.randomUUID(), comment: null, move: null, links, reason: null };
  if (said.result.outcome === "failed") return { ...giveBack(`${said.result.reason}${kept}`), move: "blocked", links };
  if (said.result.stop_reason === "refusal")
    return { ...giveBack(`The agent refused the task. ${said.message}`), move: "blocked", links };
  if (!result.has_changes && said.message === "")
    return { ...giveBack("The agent changed nothing and said nothing."), move: "blocked", links };
  const notes =
    result.has_changes && context.options.opens_pull_request
      ? await openPullRequest(folder, task, said.message, context.host.environment)
      : null;
  if (notes) print(notes.text);
  const comment = [said.message || `The agent said nothing.${kept}`, notes?.text].filter(Boolean).join("\n\n");
  return { key: crypto.randomUUID(), comment, move: "review", links: [...links, ...(notes?.links ?? [])], reason: null };
}

function describeEnding({ move, reason }: RunEnding, interruption: Interruption | null, isDelivered: boolean): string {
  const what =
    interruption?.type === "moved"
      ? `is ${interruption.task.status}`
      : { review: "submitted for review", blocked: "blocked", release: "given back", none: "ended" }[move ?? "none"];
  return `${what}${reason ? `: ${reason}` : ""}${isDelivered ? "" : " (some steps were refused)"}`;
}
