import { useState } from "preact/hooks";
import { callAuth, toLink } from "../accounts.ts";
import { api, SESSION, token } from "../api.ts";
import { useResource } from "../resource.ts";
import { isAdmin, loadSession, member as self } from "../session.ts";
import type { Member } from "../types.ts";
import { Confirm } from "../ui/confirm.tsx";
import { FormButton } from "../ui/form-button.tsx";
import type { Typed } from "../ui/form.tsx";
import { List } from "../ui/list.tsx";
import { Avatar } from "../ui/parts.tsx";
import { Secret } from "../ui/secret.tsx";
import { Time } from "../ui/time.tsx";
import { accessFields, accessText, roleOf, toAccess, toTyped } from "./access.ts";

const LIMIT = 200;
const ITEM = "/api/v1/organizations/me/members/{member_id}";

const nameOf = ({ user }: Member): string => user?.preferred_name ?? user?.name ?? user?.email ?? "A person";

/** Stores a changed role and changed access. The API has an operation for each, so up to two requests are sent. */
async function change({ id }: Member, typed: Typed, changed: Typed): Promise<void> {
  const params = { path: { member_id: id } };
  if ("role" in changed) await api.patch(ITEM, { params, body: { role: roleOf(typed) } });
  if (Object.keys(changed).some((name) => name !== "role"))
    await api.put("/api/v1/organizations/me/members/{member_id}/access", { params, body: toAccess(typed) });
}

interface RowProps {
  member: Member;
  onChanged: () => void;
  onLink: (made: { token: string }) => void;
}

function Row({ member, onChanged, onLink }: RowProps) {
  const isSelf = member.id === self.value?.id;
  const done = () => {
    onChanged();
    // A person who changed their own rights must see a page that fits the new rights.
    if (isSelf) void loadSession();
  };
  return (
    <div class="row">
      <Avatar name={nameOf(member)} />
      <div class="grow">
        <span class="row-head">
          <strong dir="auto">{nameOf(member)}</strong>
          <span class={member.role === "member" ? "badge" : "badge accent"}>{member.role}</span>
          {isSelf && <span class="badge">you</span>}
        </span>
        <span class="muted" dir="auto">
          {member.user?.email && member.user.email !== nameOf(member) ? `${member.user.email} · ` : ""}
          {accessText(member)} · since <Time at={member.created_at} />
        </span>
      </div>
      {isAdmin.value && (
        <div class="actions">
          <FormButton
            title="Change"
            about={`Change the rights of ${nameOf(member)}`}
            heading={`Rights of ${nameOf(member)}`}
            name={`member.${member.id}`}
            fields={accessFields()}
            start={toTyped(member)}
            label="Save"
            submit={(typed, changed) => change(member, typed, changed)}
            onDone={done}
          />
          {self.value?.role === "owner" && member.role !== "owner" && token.value === SESSION && (
            <Confirm
              label="Sign-in link"
              question={`Who has the link is signed in as ${nameOf(member)}. It is for a person who has lost every other way in.`}
              confirm="Make the link"
              failure="The link was not made"
              act={async () => onLink(await callAuth<{ token: string }>("POST", "/member-link", { member_id: member.id }))}
            />
          )}
          {!isSelf && (
            <Confirm
              label="Remove"
              question={`${nameOf(member)} loses all access at once.`}
              confirm="Remove the member"
              failure="The member was not removed"
              act={() => api.delete(ITEM, { params: { path: { member_id: member.id } } })}
              onDone={onChanged}
            />
          )}
        </div>
      )}
    </div>
  );
}

export function Members() {
  const read = (signal: AbortSignal) =>
    api.get("/api/v1/organizations/me/members", { params: { query: { limit: LIMIT } }, signal });
  const from = useResource(read, [], () => false);
  const [link, setLink] = useState<string | null>(null);
  return (
    <section>
      <h2>Members</h2>
      {link && <Secret label="Link, for one use within 24 hours" text={link} onDone={() => setLink(null)} />}
      <List what="the members" from={from} empty={["There are no members.", "Invite people in the tab Invites."]}>
        {(member) => (
          <Row key={member.id} member={member} onChanged={from.reload} onLink={(made) => setLink(toLink("link", made.token))} />
        )}
      </List>
    </section>
  );
}
