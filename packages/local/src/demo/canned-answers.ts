/** Fixed answers by pattern. They replace language models and a person. */

/** How a worker handles a task. */
export interface TaskScript {
  /** Posted as a comment before the work. */
  finding?: string;
  /** Asked in a comment before the work. */
  question?: string;
  result: string;
  /** The result after a review has requested changes. */
  rework?: string;
}

const TASK_SCRIPTS: [RegExp, TaskScript][] = [
  [
    /^Refund/,
    {
      finding: "the lamp was 89.00 €, its shipping 5.90 €",
      question: "@lead with the shipping or without?",
      result: "refunded 94.90 €",
      rework: "refunded 94.90 €, receipt R-4711 is attached",
    },
  ],
  [/refund/, { result: "wrote that the money is on its way" }],
  [/payment tests/, { result: "all green, 214 of 214" }],
  [/^Stop/, { finding: "the connection pool is full", result: "doubled the pool, the errors are gone" }],
  [/[Pp]arcel/, { result: "a new parcel can go out today, 49.00 €", rework: "traced the old one, it arrives tomorrow" }],
  [/[Cc]ount/, { result: "there are 42, and 3 without a bulb" }],
];
const DEFAULT_TASK_SCRIPT: TaskScript = { result: "answered, with a link to the terms" };

export const taskScriptFor = (title: string): TaskScript =>
  TASK_SCRIPTS.find(([pattern]) => pattern.test(title))?.[1] ?? DEFAULT_TASK_SCRIPT;

/** Returns the lead's answer to a question. */
export const answerFor = (question: string): string =>
  /shipping/.test(question) ? "with it, the lamp came back within 30 days" : "do as you think best";

/** Returns what is missing in a result, or undefined if the result is accepted. */
export const findFlaw = (title: string, result: string): string | undefined =>
  title.startsWith("Refund") && !/receipt/.test(result) ? "the receipt is missing, please attach it" : undefined;

/** Whether the person approves the proposal of an agent. */
export const isApprovable = (proposal: string): boolean => !/new parcel/.test(proposal);
