import { boardName, boards } from "../session.ts";
import type { Member } from "../types.ts";
import type { FieldSpec, Typed } from "../ui/form.tsx";
import { optionOf } from "../ui/select.tsx";
import { textOf } from "../ui/values.ts";

type Access = Pick<Member, "role" | "all_boards_read" | "all_boards_write"> & {
  board_access: readonly { board_id: string; can_read: boolean; can_write: boolean }[];
};

/**
 * Returns the fields for a role and for the access to boards. A board can be chosen for reading or for changing; if both are
 * chosen, changing counts, which includes reading.
 */
export function accessFields(): FieldSpec[] {
  const options = (boards.value ?? []).map(optionOf);
  const isLimited = (typed: Typed) => typed["all_boards_write"] !== true;
  return [
    {
      name: "role",
      label: "Role",
      kind: "choice",
      options: [
        ["member", "Member: works on boards"],
        ["admin", "Admin: also agents, gateways and members"],
        ["owner", "Owner: also the organization itself"],
      ],
    },
    { name: "all_boards_read", label: "Reads every board", kind: "check", isShown: isLimited },
    { name: "all_boards_write", label: "Changes every board", kind: "check" },
    {
      name: "readable",
      label: "Reads these boards",
      kind: "many",
      options,
      isShown: (typed) => isLimited(typed) && typed["all_boards_read"] !== true,
    },
    { name: "writable", label: "Changes these boards", kind: "many", options, isShown: isLimited },
  ];
}

export const NO_ACCESS: Access = { role: "member", all_boards_read: false, all_boards_write: false, board_access: [] };

export function toTyped({ role, all_boards_read, all_boards_write, board_access }: Access): Typed {
  return {
    role,
    all_boards_read,
    all_boards_write,
    readable: board_access.filter(({ can_read, can_write }) => can_read && !can_write).map(({ board_id }) => board_id),
    writable: board_access.filter(({ can_write }) => can_write).map(({ board_id }) => board_id),
  };
}

const listOf = (typed: Typed, name: string): readonly string[] => typed[name] as readonly string[];

export function toAccess(typed: Typed): {
  all_boards_read: boolean;
  all_boards_write: boolean;
  board_access: { board_id: string; can_read: boolean; can_write: boolean }[];
} {
  const writable = listOf(typed, "writable");
  const readable = listOf(typed, "readable").filter((id) => !writable.includes(id));
  return {
    all_boards_read: typed["all_boards_read"] === true || typed["all_boards_write"] === true,
    all_boards_write: typed["all_boards_write"] === true,
    board_access: [
      ...writable.map((board_id) => ({ board_id, can_read: true, can_write: true })),
      ...readable.map((board_id) => ({ board_id, can_read: true, can_write: false })),
    ],
  };
}

export const roleOf = (typed: Typed): Member["role"] => textOf(typed, "role") as Member["role"];

/** Describes the access in a few words. */
export function accessText({ all_boards_read, all_boards_write, board_access }: Access): string {
  if (all_boards_write) return "changes every board";
  const names = (isMatch: (grant: Access["board_access"][number]) => boolean) =>
    board_access.filter(isMatch).map(({ board_id }) => boardName(board_id));
  const writes = names(({ can_write }) => can_write);
  const reads = names(({ can_read, can_write }) => can_read && !can_write);
  const parts = [
    ...(writes.length > 0 ? [`changes ${writes.join(", ")}`] : []),
    ...(all_boards_read ? ["reads every board"] : reads.length > 0 ? [`reads ${reads.join(", ")}`] : []),
  ];
  return parts.join("; ") || "sees no board yet";
}
