import { useState } from "preact/hooks";
import { api } from "../api.ts";
import { useResource } from "../resource.ts";
import type { Approval } from "../types.ts";
import { Problem } from "../ui/parts.tsx";
import { Time } from "../ui/time.tsx";
import { attempt } from "../ui/toast.tsx";
import { permissionOf } from "./permission.ts";
import { type Answer, QuestionForm, questionOf } from "./question.tsx";

export const decide = (
  { board_id, id }: Pick<Approval, "board_id" | "id">,
  status: "approved" | "rejected",
  option_id?: string,
  answer?: Answer,
): Promise<boolean> =>
  attempt("The decision was not stored", () =>
    api.patch("/api/v1/boards/{board_id}/approvals/{approval_id}", {
      params: { path: { board_id, approval_id: id } },
      body: { status, ...(option_id === undefined ? {} : { option_id }), ...(answer === undefined ? {} : { answer }) },
    }),
  );

/** Shows one approval request, with a button for each answer while it is pending. */
export function ApprovalRow({ approval, mayWrite, onDecided }: { approval: Approval; mayWrite: boolean; onDecided: () => void }) {
  const { action_type, description, confidence, status, created_at, resolved_at } = approval;
  const permission = permissionOf(approval);
  const question = questionOf(approval);
  const [isSending, setSending] = useState(false);
  const answer = async (decision: "approved" | "rejected", option_id?: string, given?: Answer): Promise<boolean> => {
    setSending(true);
    const isStored = await decide(approval, decision, option_id, given);
    setSending(false);
    if (isStored) onDecided();
    return isStored;
  };
  return (
    <div class="approval">
      <div class="grow">
        <p>
          <strong dir="auto">{action_type}</strong>{" "}
          <span class={status === "pending" ? "badge accent" : status === "rejected" ? "badge danger" : "badge success"}>
            {status}
          </span>{" "}
          <span class="muted">
            <Time at={resolved_at ?? created_at} />
            {confidence > 0 && `, confidence ${confidence} %`}
          </span>
        </p>
        {description && (
          <p class="text" dir="auto">
            {description}
          </p>
        )}
        {question && question.answer !== "" && (
          <p class="text" dir="auto">
            {question.answer}
          </p>
        )}
        {status === "pending" && mayWrite && question && (
          <QuestionForm
            id={approval.id}
            question={question}
            onAnswer={(given) => answer(given ? "approved" : "rejected", undefined, given ?? undefined)}
          />
        )}
        {permission && permission.excerpt !== "" && (
          <pre class="text" dir="auto">
            {permission.excerpt}
          </pre>
        )}
      </div>
      {status === "pending" && mayWrite && permission && permission.options.length > 0 && (
        <div class="actions">
          {permission.options.map(({ id, name, kind }, index) => (
            <button
              key={id}
              type="button"
              class={index === 0 ? "primary" : ""}
              dir="auto"
              disabled={isSending}
              onClick={() => answer(kind.startsWith("allow") ? "approved" : "rejected", id)}
            >
              {name}
            </button>
          ))}
        </div>
      )}
      {status === "pending" && mayWrite && !question && !permission?.options.length && (
        <div class="actions">
          <button type="button" class="primary" disabled={isSending} onClick={() => answer("approved")}>
            Approve
          </button>
          <button type="button" disabled={isSending} onClick={() => answer("rejected")}>
            Reject
          </button>
        </div>
      )}
    </div>
  );
}

const LIMIT = 200;

export function Approvals({ board_id, task_id, mayWrite }: { board_id: string; task_id: string; mayWrite: boolean }) {
  const read = (signal: AbortSignal) => {
    const params = { path: { board_id }, query: { task_id, limit: LIMIT } };
    return api.get("/api/v1/boards/{board_id}/approvals", { params, signal });
  };
  const { data, error, reload } = useResource(
    read,
    [task_id],
    (change) => change.type === "approval" && change.board_id === board_id,
    true,
  );
  if (!error && !data?.items.length) return null;
  return (
    <section>
      <h3>Approvals</h3>
      <Problem error={error} retry={reload} />
      {data?.items.map((approval) => (
        <ApprovalRow key={approval.id} approval={approval} mayWrite={mayWrite} onDecided={reload} />
      ))}
      {data && data.total > data.items.length && (
        <p class="muted">{data.total - data.items.length} earlier approvals are not shown.</p>
      )}
    </section>
  );
}
