import { useState } from "preact/hooks";
import { LINK_USE, toLink } from "../accounts.ts";
import { api } from "../api.ts";
import type { Board } from "../types.ts";
import { type FieldSpec, Form, type Typed } from "../ui/form.tsx";
import { Snippet } from "../ui/parts.tsx";
import { textOf } from "../ui/values.ts";

const FIELDS: readonly FieldSpec[] = [{ name: "invited_email", label: "Email address", placeholder: "ann@example.com" }];

/** Invites a person and gives them write access to this board. */
export function InvitePerson({ board, onInvited }: { board: Board; onInvited: () => void }) {
  const [token, setToken] = useState<string | null>(null);
  const invite = async (typed: Typed) => {
    const board_access = [{ board_id: board.id, can_read: true, can_write: true }];
    const body = { invited_email: textOf(typed, "invited_email").trim(), role: "member" as const, board_access };
    setToken((await api.post("/api/v1/organizations/me/invites", { body })).token);
    onInvited();
  };
  if (token === null)
    return <Form name="invite.first" fields={FIELDS} start={{ invited_email: "" }} label="Invite" submit={invite} />;
  return (
    <>
      <p>Give this link to the person, {LINK_USE}</p>
      <Snippet label="Link of the invite" text={toLink("invite", token)} />
    </>
  );
}
