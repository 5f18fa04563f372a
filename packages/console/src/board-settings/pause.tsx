import { api } from "../api.ts";
import { useResource } from "../resource.ts";
import { canWrite } from "../session.ts";
import { Problem } from "../ui/parts.tsx";
import { Time } from "../ui/time.tsx";
import { attempt } from "../ui/toast.tsx";

const PATH = "/api/v1/boards/{board_id}/memory";
const COMMAND = /^\s*\/(pause|resume)\s*$/i;
/** Commands are rare, so the newest command is expected among this many of the newest chat entries that contain a slash. */
const LIMIT = 50;

async function readState(board_id: string, signal: AbortSignal) {
  const find = (q: string) =>
    api.get(PATH, { params: { path: { board_id }, query: { is_chat: true, q, limit: LIMIT } }, signal });
  const pages = await Promise.all([find("/pause"), find("/resume")]);
  const commands = pages.flatMap(({ items }) => items).filter(({ content }) => COMMAND.test(content));
  const newest = commands.toSorted((one, other) => (one.created_at < other.created_at ? 1 : -1))[0];
  return { isPaused: newest !== undefined && /pause/i.test(newest.content), since: newest?.created_at ?? null };
}

/** Pauses and resumes a board. While it is paused, its agents get no work. The board's chat tells the agents about it. */
export function Pause({ board_id }: { board_id: string }) {
  const isMemory = ({ type, board_id: of }: { type: string; board_id: string | null }) => type === "memory" && of === board_id;
  const { data, error, reload } = useResource((signal) => readState(board_id, signal), [board_id], isMemory);
  if (error) return <Problem error={error} retry={reload} />;
  if (!data) return null;
  const send = () =>
    api.post(PATH, { params: { path: { board_id } }, body: { content: data.isPaused ? "/resume" : "/pause", tags: ["chat"] } });
  return (
    <section class="card-panel">
      <div class="view-intro">
        <div class="row-head">
          <h2>Work of the agents</h2>
          <span class={data.isPaused ? "badge warning" : "badge success"}>{data.isPaused ? "paused" : "goes on"}</span>
          {data.since && (
            <span class="muted">
              since <Time at={data.since} />
            </span>
          )}
        </div>
        {canWrite(board_id) && (
          <button
            type="button"
            onClick={async () => {
              await attempt(data.isPaused ? "The board is still paused" : "The board was not paused", send);
              await reload();
            }}
          >
            {data.isPaused ? "Resume" : "Pause"}
          </button>
        )}
      </div>
    </section>
  );
}
