import { type BoardService, handleOf, isLeaseLost } from "./board-service.ts";
import type { Journal, RunEnding } from "./journal.ts";
import { isRefusal, isTokenRefused, untilAnswered } from "./retry.ts";

/**
 * Stores how a run ended. If this process is killed, the next start reports it. If it cannot be stored, the run still goes on to
 * its end, because this process reports it.
 */
export function storeEnding(journal: Journal, ending: RunEnding, print: (text: string) => void): void {
  try {
    journal.add({ line: "end", ending });
  } catch (error) {
    print(`the end of the run could not be stored on this machine: ${(error as Error).message}`);
  }
}

/**
 * Tells the service how a run ended. If the runner is killed midway, its next start calls this again, so every part is safe to
 * repeat: the comment has a key, and a task that has already moved is not changed.
 */
export async function tellEnding(service: BoardService, journal: Journal, ending: RunEnding, signal: AbortSignal): Promise<void> {
  const { facts } = journal;
  const handle = handleOf(facts);
  const told = <T>(call: () => Promise<T>) => untilAnswered(call, signal);
  const { comment, key, move, links, reason, usage } = ending;
  if (comment !== null) {
    // A comment with the fence also renews the lease. If the lease is lost, the comment is posted without the fence, because it
    // says what was done.
    await told(() => service.addComment(handle, comment, key, move !== null))
      .catch(async (error: unknown) => {
        if (!isLeaseLost(error)) throw error;
        await told(() => service.addComment(handle, comment, `${key}-late`, false));
      })
      .catch(ignoreRefusal);
  }
  if (usage) await told(() => service.reportUsage(facts.run_id, usage)).catch(ignoreRefusal);
  await told(() => service.describeRun(facts.run_id, { links, ...(reason === null ? {} : { ended_reason: reason }) })).catch(
    ignoreRefusal,
  );
  if (move === null) return;
  const task = await told(() => service.readTask(handle)).catch(ignoreRefusal);
  if (!task || task.status !== "in_progress" || task.lease?.fence !== facts.fence) return;
  const moved = move === "release" ? () => service.releaseTask(handle) : () => service.moveTask(handle, move);
  await told(moved).catch(async (error: unknown) => {
    if (!isRefusal(error) || isTokenRefused(error)) throw error;
    // The service refused the move, for example because of a rule of the board. If the lease is not lost, the task is released
    // instead.
    if (!isLeaseLost(error) && move !== "release") await told(() => service.releaseTask(handle)).catch(ignoreRefusal);
  });
}

/**
 * Ignores a refusal: the task or the run was removed, or the agent has lost its rights, so the result cannot be delivered. A
 * refused token is an error, because the result can be delivered when the runner has a new token.
 */
function ignoreRefusal(error: unknown): undefined {
  if (isRefusal(error) && !isTokenRefused(error)) return undefined;
  throw error;
}
