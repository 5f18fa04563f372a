import { api } from "../api.ts";
import { boards, isAdmin, loadSession, member, organizations, switchOrganization } from "../session.ts";
import { Confirm } from "../ui/confirm.tsx";
import { Form } from "../ui/form.tsx";
import { showInfo } from "../ui/toast.tsx";
import { textOf } from "../ui/values.ts";
import { AcceptInvite } from "./invites.tsx";

const ME = "/api/v1/organizations/me";

/** Shows the organization's name, a form for a new organization, and the actions that cannot be undone. */
export function General() {
  const active = organizations.value.find(({ is_active }) => is_active);
  if (!active) return null;
  return (
    <>
      {isAdmin.value && (
        <section class="card-panel">
          <h2>Name</h2>
          <Form
            name={`organization.${active.id}`}
            fields={[{ name: "name", label: "Name of the organization" }]}
            start={{ name: active.name }}
            label="Rename"
            submit={(typed) => api.patch(ME, { body: { name: textOf(typed, "name") } })}
            onDone={() => {
              showInfo("The organization was renamed.");
              void loadSession();
            }}
          />
        </section>
      )}
      <section class="card-panel">
        <h2>New organization</h2>
        <p class="muted">It begins empty, with you as its owner, and you change to it at once.</p>
        <Form
          name="organization.new"
          fields={[{ name: "name", label: "Name of the new organization" }]}
          start={{ name: "" }}
          label="Create organization"
          submit={async (typed) => {
            const { id } = await api.post("/api/v1/organizations", { body: { name: textOf(typed, "name") } });
            await switchOrganization(id);
          }}
        />
      </section>
      <AcceptInvite />
      {member.value?.role === "owner" && (
        <section class="card-panel danger-zone">
          <h2>Danger zone</h2>
          <p>
            Deleting the organization removes{" "}
            {boards.value?.length === 1 ? "its board" : `its ${boards.value?.length ?? 0} boards`} with all tasks, agents, files
            and history. Nothing can be restored.
          </p>
          <Confirm
            label="Delete the organization"
            question={`Type “${active.name}” to delete it for everybody.`}
            confirm="Delete for ever"
            failure="The organization was not deleted"
            typed={active.name}
            act={() => api.delete(ME)}
            onDone={() => location.assign("/")}
          />
        </section>
      )}
    </>
  );
}
