import type { Journal } from "./journal.ts";
import type { Step } from "./step.ts";

/** Returns a function that adds steps to a journal. The work goes on while the disk is full. The first failure is printed. */
export function keepSteps(journal: Journal, print: (text: string) => void): (step: Step) => void {
  let isTold = false;
  return (step) => {
    try {
      journal.addStep(step);
    } catch (error) {
      if (!isTold) print(`steps of the run are not kept: ${(error as Error).message}`);
      isTold = true;
    }
  };
}
