import { api } from "../api.ts";
import { boards, canWrite } from "../session.ts";
import type { BoardGroup } from "../types.ts";
import type { FieldSpec, Typed } from "../ui/form.tsx";
import { textOf } from "../ui/values.ts";
import { Memory } from "./memory.tsx";

const PATH = "/api/v1/board-groups/{group_id}/memory";

export const GROUP_FIELDS: readonly FieldSpec[] = [
  { name: "content", label: "Text", kind: "long", rows: 4 },
  { name: "is_chat", label: "Say it to the agents in the chat", kind: "check" },
  { name: "is_broadcast", label: "Tell every agent of the group", kind: "check" },
];
export const GROUP_START: Typed = { content: "", is_chat: false, is_broadcast: false };

export const groupBody = (typed: Typed) => ({
  content: textOf(typed, "content"),
  tags: [...(typed["is_chat"] === true ? ["chat"] : []), ...(typed["is_broadcast"] === true ? ["broadcast"] : [])],
});

/** Shows the memory that the boards of a group share. */
export function GroupMemory({ group }: { group: BoardGroup }) {
  const params = { path: { group_id: group.id } };
  const mayWrite = (boards.value ?? []).some(({ id, board_group_id }) => board_group_id === group.id && canWrite(id));
  return (
    <Memory
      title={`Memory of ${group.name}`}
      name={`memory.group.${group.id}`}
      read={(query, signal) => api.get(PATH, { params: { ...params, query }, signal })}
      fields={GROUP_FIELDS}
      start={GROUP_START}
      write={mayWrite ? (typed) => api.post(PATH, { params, body: groupBody(typed) }) : null}
      concerns={() => false}
    />
  );
}
