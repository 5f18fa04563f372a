import { api } from "../api.ts";
import { canWrite } from "../session.ts";
import type { Board } from "../types.ts";
import type { FieldSpec, Typed } from "../ui/form.tsx";
import { textOf, textOrNull } from "../ui/values.ts";
import { groupBody, GROUP_FIELDS, GROUP_START } from "./group.tsx";
import { Memory } from "./memory.tsx";

const OWN = "/api/v1/boards/{board_id}/memory";
const GROUP = "/api/v1/boards/{board_id}/group-memory";

const FIELDS: readonly FieldSpec[] = [
  { name: "content", label: "Text", kind: "long", rows: 4 },
  { name: "key", label: "Key", placeholder: "none", hint: "The newest text of a key replaces the earlier ones." },
  { name: "is_chat", label: "Say it to the agents in the chat", kind: "check" },
];

function toBody(typed: Typed) {
  const key = textOrNull(typed, "key");
  const content = textOf(typed, "content");
  const tags = typed["is_chat"] === true ? ["chat"] : [];
  return key === null ? { content, tags } : { key, value: content as never, tags };
}

/** Shows the memory of a board, and of the group that it belongs to. */
export function BoardMemory({ board }: { board: Board }) {
  const params = { path: { board_id: board.id } };
  const mayWrite = canWrite(board.id);
  return (
    <>
      <Memory
        title="Memory and chat"
        name={`memory.${board.id}`}
        read={(query, signal) => api.get(OWN, { params: { ...params, query }, signal })}
        fields={FIELDS}
        start={{ content: "", key: "", is_chat: false }}
        write={mayWrite ? (typed) => api.post(OWN, { params, body: toBody(typed) }) : null}
        concerns={({ type, board_id }) => type === "memory" && board_id === board.id}
      />
      {board.board_group_id && (
        <Memory
          title="Memory of the group"
          name={`memory.group-of.${board.id}`}
          read={(query, signal) => api.get(GROUP, { params: { ...params, query }, signal })}
          fields={GROUP_FIELDS}
          start={GROUP_START}
          write={mayWrite ? (typed) => api.post(GROUP, { params, body: groupBody(typed) }) : null}
          concerns={() => false}
        />
      )}
    </>
  );
}
