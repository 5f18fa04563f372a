import { api } from "../api.ts";
import { boards } from "../session.ts";
import type { Gateway, TemplateSync } from "../types.ts";
import { FormButton } from "../ui/form-button.tsx";
import type { FieldSpec, Typed } from "../ui/form.tsx";
import { Problem } from "../ui/parts.tsx";
import { optionOf } from "../ui/select.tsx";
import { Time } from "../ui/time.tsx";
import { textOf } from "../ui/values.ts";
import { Progress, useWork } from "../ui/work.tsx";

const LIST = "/api/v1/gateways/{gateway_id}/templates/sync";

const fieldsOf = (gateway: Gateway): FieldSpec[] => [
  {
    name: "board_id",
    label: "Agents of",
    kind: "choice",
    options: [
      ["", "every board of this gateway"],
      ...(boards.value ?? []).filter((board) => board.gateway_id === gateway.id).map(optionOf),
    ],
  },
  { name: "include_main", label: "Also the main agent", kind: "check" },
  { name: "lead_only", label: "Only leads of boards", kind: "check" },
  { name: "overwrite", label: "Write USER.md and MEMORY.md too", kind: "check", hint: "What agents noted there is lost." },
  { name: "force_bootstrap", label: "Write BOOTSTRAP.md again", kind: "check" },
  { name: "reset_sessions", label: "Begin new sessions", kind: "check" },
  { name: "rotate_tokens", label: "Give every agent a new token", kind: "check" },
];

const FLAGS = ["include_main", "lead_only", "overwrite", "force_bootstrap", "reset_sessions", "rotate_tokens"] as const;

/** Starts a sync and returns its run. The service continues it even if nobody waits. */
async function begin(gateway_id: string, typed: Typed): Promise<string | null> {
  const query = {
    ...Object.fromEntries(FLAGS.map((name) => [name, typed[name] === true])),
    ...(textOf(typed, "board_id") ? { board_id: textOf(typed, "board_id") } : {}),
  };
  const answer = await api.post(LIST, {
    params: { path: { gateway_id }, query },
    headers: { Prefer: "respond-async" },
  });
  return "run_id" in answer ? (answer.run_id as string) : null;
}

/** Writes the files of agents to their host, and shows the progress. */
export function Sync({ gateway }: { gateway: Gateway }) {
  const { run, error, follow } = useWork<TemplateSync>(`sync.${gateway.id}`, (run_id) =>
    api.get(`${LIST}/{run_id}`, { params: { path: { gateway_id: gateway.id, run_id } } }),
  );
  return (
    <section class="card-panel">
      <div class="view-intro">
        <h2>Files of the agents</h2>
        <FormButton
          title="Sync"
          name={`sync.${gateway.id}`}
          fields={fieldsOf(gateway)}
          start={{ board_id: "", ...Object.fromEntries(FLAGS.map((name) => [name, name === "include_main"])) }}
          label="Begin the sync"
          submit={async (typed) => {
            const run_id = await begin(gateway.id, typed);
            if (run_id) follow(run_id);
          }}
        />
      </div>
      <p class="muted">A sync writes instructions, identity and soul of each agent to its folder on the host.</p>
      <Problem error={error} />
      {run && <SyncResult run={run} />}
    </section>
  );
}

function SyncResult({ run: { status, result, created_at, finished_at } }: { run: TemplateSync }) {
  const counts = `${result.total_synced} agents synced, ${result.files_written} files written, ${result.agents_skipped} skipped`;
  return (
    <div class="panel">
      {status === "running" ? (
        <Progress label={`Syncing: ${counts}`} />
      ) : (
        <p role="status">
          Synced <Time at={finished_at ?? created_at} />: {counts}.
        </p>
      )}
      {result.errors.map((item) => (
        <p key={`${item.agent_id}${item.error}`} class="danger-text text" dir="auto">
          {item.agent_name ? `${item.agent_name}: ` : ""}
          {item.error}
        </p>
      ))}
      {result.warnings.map((item) => (
        <p key={`${item.agent_id}${item.message}`} class="muted text" dir="auto">
          {item.agent_name ? `${item.agent_name}: ` : ""}
          {item.message}
        </p>
      ))}
    </div>
  );
}
