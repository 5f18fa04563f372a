import { api } from "../api.ts";
import type { Webhook } from "../types.ts";
import type { FieldSpec, Typed } from "../ui/form.tsx";
import { showInfo } from "../ui/toast.tsx";
import { fromLocal, textOf } from "../ui/values.ts";
import { ITEM, pathOf } from "./address.ts";

const REDELIVER = `${ITEM}/redeliver` as const;

export const FIELDS: readonly FieldSpec[] = [
  {
    name: "status",
    label: "Which payloads",
    kind: "choice",
    options: [
      ["failed", "Those that failed"],
      ["no_target", "Those for which there was no agent"],
    ],
  },
  { name: "since", label: "Received since", kind: "moment", hint: "Empty: all of them." },
];
export const START: Typed = { status: "failed", since: "" };

/** Delivers the chosen payloads again: those that failed, or those for which there was no agent. */
export async function redeliverAll(webhook: Webhook, typed: Typed): Promise<void> {
  const since = fromLocal(textOf(typed, "since"));
  const status = textOf(typed, "status") as "failed" | "no_target";
  const body = { status, ...(since ? { since } : {}) };
  let count = 0;
  let hasMore = true;
  while (hasMore) {
    const answer = await api.post(REDELIVER, { ...pathOf(webhook), body });
    count += answer.redelivered;
    hasMore = answer.has_more && answer.redelivered > 0;
  }
  showInfo(toText(count));
}
const toText = (count: number) => (count === 1 ? "1 payload is delivered again." : `${count} payloads are delivered again.`);
