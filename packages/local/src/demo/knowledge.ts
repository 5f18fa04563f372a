/** What the agents and the person know of their work. It stands in for models and a mind: a text is matched, an answer given. */

/** How a worker does a task. */
export interface Craft {
  /** What it finds out on the way. */
  finding?: string;
  /** What it cannot decide by itself. */
  question?: string;
  result: string;
  /** The result after it was sent back. */
  rework?: string;
}

const CRAFTS: [RegExp, Craft][] = [
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
const ANY_CRAFT: Craft = { result: "answered, with a link to the terms" };

export const craftOf = (title: string): Craft => CRAFTS.find(([pattern]) => pattern.test(title))?.[1] ?? ANY_CRAFT;

/** What the lead answers to a question. */
export const answerTo = (question: string): string =>
  /shipping/.test(question) ? "with it, the lamp came back within 30 days" : "do as you think best";

/** What the lead misses in a result; undefined when it is content. */
export const flawOf = (title: string, result: string): string | undefined =>
  title.startsWith("Refund") && !/receipt/.test(result) ? "the receipt is missing, please attach it" : undefined;

/** Whether the person agrees to what an agent proposes. */
export const isAgreeable = (proposal: string): boolean => !/new parcel/.test(proposal);
