import type { Key, KeyCreate, KeyRotate } from "../types.ts";
import { boardName, boards, member } from "../session.ts";
import type { FieldSpec, Typed } from "../ui/form.tsx";
import { optionOf } from "../ui/select.tsx";
import { fromLocal, numberOrNull, textOf } from "../ui/values.ts";

const ACCESS_NAMES: Record<Key["access"], string> = {
  read: "Read: sees boards",
  write: "Write: works on boards as a member",
  admin: "Admin: also makes agents, invites and keys",
};

const isOwner = () => member.value?.role === "owner";

/** Returns the fields for when a key expires. Only owners can create keys that never expire. */
const endFields = (hint: string): FieldSpec[] => [
  { name: "expires_at", label: "Ends", kind: "moment", hint, short: true, isShown: (typed) => typed["endless"] !== true },
  { name: "endless", label: "The key does not end", kind: "check", isShown: isOwner },
];

export const newFields = (): FieldSpec[] => [
  { name: "name", label: "What the key is for", placeholder: "Deployments of the shop" },
  { name: "access", label: "Access", kind: "choice", options: Object.entries(ACCESS_NAMES) },
  {
    name: "board_ids",
    label: "Limit to these boards",
    kind: "many",
    options: (boards.value ?? []).map(optionOf),
    hint: "Choose none for all boards.",
  },
  ...endFields("In 90 days, if you choose nothing. At most a year ahead."),
];
export const NEW: Typed = { name: "", access: "write", board_ids: [], expires_at: "", endless: false };

export const ROTATE_FIELDS = (): FieldSpec[] => [
  {
    name: "overlap_hours",
    label: "Hours for which the previous key still works",
    kind: "number",
    hint: "0 to 168. With 0 it stops at once.",
  },
  ...endFields("Stays as it is, if you choose nothing."),
];
export const ROTATE: Typed = { overlap_hours: "24", expires_at: "", endless: false };

function endOf(typed: Typed): { expires_at?: string | null } {
  if (typed["endless"] === true) return { expires_at: null };
  const expires_at = fromLocal(textOf(typed, "expires_at"));
  return expires_at === null ? {} : { expires_at };
}

export function toNew(typed: Typed): KeyCreate {
  const board_ids = typed["board_ids"] as string[];
  return {
    name: textOf(typed, "name"),
    access: textOf(typed, "access") as Key["access"],
    board_ids: board_ids.length > 0 ? board_ids : null,
    ...endOf(typed),
  };
}

export const toRotation = (typed: Typed): KeyRotate => ({
  overlap_hours: numberOrNull(typed, "overlap_hours") ?? 0,
  ...endOf(typed),
});

/** Names the boards that a key may use. */
export const boardsText = ({ board_ids }: Key): string =>
  board_ids === null ? "all boards" : board_ids.map((id) => boardName(id)).join(", ");
