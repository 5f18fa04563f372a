import * as z from "zod";
import { InvalidInput } from "../values/errors.ts";

/** The action of an approval with which a runner asks whether a coding agent may use a tool (docs/reference/approvals.md). */
export const RUN_PERMISSION = "run.permission";

/**
 * Returns whether an approval only concerns a step of a run. Such an approval does not block moves of the task, and does not
 * approve its result.
 */
export const isRunPermission = ({ action_type }: { action_type: string }): boolean => action_type === RUN_PERMISSION;

const MAX_OPTIONS = 20;
const Options = z.array(z.looseObject({ id: z.string(), kind: z.string() })).max(MAX_OPTIONS);

interface Decided {
  action_type: string;
  payload: Record<string, unknown> | null;
}

/**
 * Returns the payload of a decided permission, with the option that the person chose. The default is the option that allows or
 * rejects the step once.
 */
export function withSelectedOption(
  approval: Decided,
  status: "approved" | "rejected",
  option_id: string | undefined,
): Record<string, unknown> | null {
  if (!isRunPermission(approval)) {
    if (option_id !== undefined) throw invalidOption("This approval has no options", option_id);
    return approval.payload;
  }
  const options = Options.safeParse(approval.payload?.["options"]).data ?? [];
  const group = status === "approved" ? "allow" : "reject";
  const matching = options.filter(({ kind }) => kind.startsWith(group));
  const chosen =
    option_id === undefined
      ? (matching.find(({ kind }) => kind === `${group}_once`) ?? matching[0])
      : matching.find(({ id }) => id === option_id);
  if (option_id !== undefined && !chosen)
    throw invalidOption(`No option of the approval has this id and means ${status}`, option_id);
  return { ...approval.payload, selected_option: chosen?.id ?? null };
}

const invalidOption = (msg: string, input: string) =>
  new InvalidInput([{ type: "value_error", loc: ["body", "option_id"], msg, input }]);
