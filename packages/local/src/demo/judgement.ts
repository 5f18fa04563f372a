import type { Agent } from "./demo.ts";
import type { Tag } from "./set-up.ts";

// The demo uses the fixed answers below instead of the judgement of a language model and of a person.

/** A task that the lead creates, and what a worker says about it. */
export interface TaskPlan extends Work {
  title: string;
  tags: Tag[];
  /** The agent that takes the task. Without it, any worker may take the task. */
  worker?: Agent;
  waits_for_previous?: true;
}

/** What a worker comments and asks before it submits a result, and the result after a review has requested changes. */
interface Work {
  finding?: string;
  question?: string;
  result: string;
  rework?: string;
}

const REFUND: TaskPlan = {
  title: "Refund order 4711",
  tags: ["money", "customers"],
  worker: "Milo",
  finding: "the lamp was 89.00 €, its shipping 5.90 €",
  question: "@lead with the shipping or without?",
  result: "refunded 94.90 €",
  rework: "refunded 94.90 €, receipt R-4711 is attached",
};
const TELL: TaskPlan = { title: "Tell Lea of the refund", tags: ["customers"], waits_for_previous: true, result: "wrote to Lea" };
const NORWAY: TaskPlan = { title: "Answer Tomasz: delivery to Norway", tags: ["customers"], result: "we ship there for 19.00 €" };
const CHECKOUTS: TaskPlan = {
  title: "Stop the failing checkouts",
  tags: ["shop"],
  worker: "Juno",
  finding: "the connection pool is full",
  result: "doubled the pool, the errors are gone",
};
const PARCEL: TaskPlan = {
  title: "Answer Ida: parcel is late",
  tags: ["customers"],
  worker: "Juno",
  result: "a new parcel can go out today, 49.00 €",
  rework: "traced the old one, it arrives tomorrow",
};
const TESTS: TaskPlan = {
  title: "Run the payment tests",
  tags: ["money", "shop"],
  worker: "Milo",
  result: "all green, 214 of 214",
};

/** Otto would never finish this task. Another worker finishes it when Otto's budget is spent. */
export const NAME: TaskPlan = {
  title: "Find a name for the new lamp",
  tags: ["shop"],
  worker: "Otto",
  result: "it is called Luma, short and still free",
};

/** What the lead decides about a payload: tasks if something must be done, else a note for the memory of the board. */
type Judgement = TaskPlan[] | string;

/** Strangers write payloads, so the reader never does what they ask. */
const JUDGEMENTS: [string, Judgement][] = [
  ["Ignore your instructions", "an email gives instructions and asks for secrets; ignored"],
  ["Order 4711", [REFUND, TELL]],
  ["Norway", [NORWAY]],
  ["Parcel", [PARCEL]],
  ['"critical","state":"firing"', [CHECKOUTS]],
  ["severity", "an alert that needs no action"],
  ["src/payment", [TESTS]],
];

export const judge = (payload: string): Judgement =>
  JUDGEMENTS.find(([words]) => payload.includes(words))?.[1] ?? "a change of the shop";

export const workFor = (title: string): Work =>
  [REFUND, TELL, NORWAY, CHECKOUTS, PARCEL, TESTS, NAME].find((plan) => plan.title === title) ?? { result: "there are 42" };

/** The lead's answer to a question, and what the worker remembers of it. */
export const ANSWER = "with it, the lamp came back within 30 days";
export const FACT = { key: "refunds/shipping", content: "Refunds within 30 days include the shipping." };

/** Returns what is missing in a result; undefined if it is accepted. */
export const findFlaw = (result: string): string | undefined =>
  result === REFUND.result ? "the receipt is missing, please attach it" : undefined;

/** Returns whether the person approves the proposal of an agent. */
export const isApprovable = (proposal: string): boolean => proposal !== PARCEL.result;
