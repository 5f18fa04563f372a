import type { Budgets } from "@board/core/config/budgets";

export type RenderLimits = Pick<Budgets, "agent_file_max_chars" | "agent_files_max_chars">;

/** Thrown when the files of an agent would be too large. The message names the file and the variable that adds most to it. */
export class RenderTooLarge extends Error {}

/** Counts characters before they are added to a file. `variable` is the name of the variable that they come from. */
export type CountChars = (chars: number, variable?: string) => void;

/**
 * Creates the budget of one agent's files. The returned function creates a counter for a file, which throws RenderTooLarge.
 * Characters are counted before a file is built, because a template may insert a long text thousands of times and fill the memory.
 */
export function createRenderBudget(limits: RenderLimits): (file: string) => CountChars {
  const { agent_file_max_chars: file_chars, agent_files_max_chars: agent_chars } = limits;
  let agent_total = 0;
  return (file) => {
    let file_total = 0;
    const by_variable = new Map<string, number>();
    return (chars, variable) => {
      file_total += chars;
      agent_total += chars;
      if (variable !== undefined) by_variable.set(variable, (by_variable.get(variable) ?? 0) + chars);
      const cause = () => {
        const [largest] = [...by_variable].toSorted((a, b) => b[1] - a[1]);
        return largest ? `, mostly by the variable ${largest[0]}` : "";
      };
      if (file_total > file_chars)
        throw new RenderTooLarge(`${file} would have more than ${file_chars} characters${cause()}. Shorten its template.`);
      if (agent_total > agent_chars)
        throw new RenderTooLarge(
          `The files of the agent would have more than ${agent_chars} characters. The limit was reached in ${file}${cause()}.`,
        );
    };
  };
}
