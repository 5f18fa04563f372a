import { useState } from "preact/hooks";
import { LINK_USE, toLink } from "../accounts.ts";
import { MissingAddress } from "../account/missing.tsx";
import { api, SESSION, token as session } from "../api.ts";
import { useResource } from "../resource.ts";
import { joinOrganization } from "../session.ts";
import { Confirm } from "../ui/confirm.tsx";
import { FormButton } from "../ui/form-button.tsx";
import { Form, type Typed } from "../ui/form.tsx";
import { List } from "../ui/list.tsx";
import { Snippet } from "../ui/parts.tsx";
import { Time } from "../ui/time.tsx";
import { textOf } from "../ui/values.ts";
import { accessFields, NO_ACCESS, roleOf, toAccess, toTyped } from "./access.ts";

const LIMIT = 200;
const LIST = "/api/v1/organizations/me/invites";

const invite = (typed: Typed) =>
  api.post(LIST, { body: { invited_email: textOf(typed, "invited_email").trim(), role: roleOf(typed), ...toAccess(typed) } });

/** Shows open invites. Only a service that sends mail sends their links too, so the person who invites can pass them on. */
export function Invites() {
  const read = (signal: AbortSignal) => api.get(LIST, { params: { query: { limit: LIMIT } }, signal });
  const from = useResource(read, [], () => false);
  const [token, setToken] = useState<string | null>(null);
  return (
    <section>
      <div class="view-intro">
        <h2>Open invites</h2>
        <FormButton
          title="Invite a person"
          isPrimary
          name="invite"
          fields={[{ name: "invited_email", label: "Email address", placeholder: "ann@example.com" }, ...accessFields()]}
          start={{ invited_email: "", ...toTyped(NO_ACCESS) }}
          label="Invite"
          submit={async (typed) => setToken((await invite(typed)).token)}
          onDone={from.reload}
        />
      </div>
      <MissingAddress />
      {token && (
        <div class="card-panel" role="status">
          {session.value === SESSION ? (
            <>
              <p>The invite is ready. Give this link to the person, {LINK_USE}</p>
              <Snippet label="Link of the invite" text={toLink("invite", token)} />
            </>
          ) : (
            <>
              <p>The invite is ready. Give this token to the person, who enters it under Organization, General.</p>
              <Snippet label="Token of the invite" text={token} />
            </>
          )}
        </div>
      )}
      <List what="the invites" from={from} empty={["Nobody is invited.", "An invite names the role and the boards in advance."]}>
        {(item) => (
          <div class="row" key={item.id}>
            <div class="grow">
              <span class="row-head">
                <strong dir="auto">{item.invited_email}</strong>
                <span class="badge">{item.role}</span>
              </span>
              <span class="muted">
                invited <Time at={item.created_at} />
              </span>
            </div>
            <div class="actions">
              <button
                type="button"
                aria-label={`Show the ${session.value === SESSION ? "link" : "token"} for ${item.invited_email}`}
                onClick={() => setToken(item.token)}
              >
                {session.value === SESSION ? "Show link" : "Show token"}
              </button>
              <Confirm
                label="Withdraw"
                question="The token stops working."
                confirm="Withdraw the invite"
                failure="The invite was not withdrawn"
                act={() => api.delete(`${LIST}/{invite_id}`, { params: { path: { invite_id: item.id } } })}
                onDone={() => {
                  if (item.token === token) setToken(null);
                  void from.reload();
                }}
              />
            </div>
          </div>
        )}
      </List>
    </section>
  );
}

export function AcceptInvite() {
  return (
    <section class="card-panel">
      <h2>Join another organization</h2>
      <Form
        name="accept-invite"
        fields={[{ name: "token", label: "Token of the invite", kind: "secret" }]}
        start={{ token: "" }}
        label="Join"
        submit={(typed) => joinOrganization(textOf(typed, "token").trim())}
      />
    </section>
  );
}
