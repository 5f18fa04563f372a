import { callAuth } from "../accounts.ts";
import { useResource } from "../resource.ts";
import { Confirm } from "../ui/confirm.tsx";
import { List } from "../ui/list.tsx";
import { Time } from "../ui/time.tsx";
import { attempt } from "../ui/toast.tsx";

interface Session {
  id: string;
  token: string;
  createdAt: string;
  updatedAt: string;
  ipAddress: string | null;
  userAgent: string | null;
}

interface Listed extends Session {
  isCurrent: boolean;
}

async function readSessions(): Promise<{ items: Listed[] }> {
  const [all, current] = await Promise.all([
    callAuth<Session[]>("GET", "/list-sessions"),
    callAuth<{ session: Session } | null>("GET", "/get-session"),
  ]);
  const items = all.map((session) => ({ ...session, isCurrent: session.id === current?.session.id }));
  return { items: items.toSorted((one, other) => Number(other.isCurrent) - Number(one.isCurrent)) };
}

const BROWSERS = ["Firefox", "Edg", "OPR", "Chrome", "Safari"];
const NAMES: Record<string, string> = { Edg: "Edge", OPR: "Opera" };
const SYSTEMS = ["Windows", "Android", "iPhone", "iPad", "Mac OS", "Linux"];

/** Returns the browser and the operating system, if the user agent names them. */
function programOf(agent: string | null): string {
  const browser = BROWSERS.find((name) => agent?.includes(name));
  const system = SYSTEMS.find((name) => agent?.includes(name));
  if (!browser) return agent ?? "An unknown program";
  return `${NAMES[browser] ?? browser}${system ? ` on ${system}` : ""}`;
}

/** Shows the sessions in which the person is signed in, and ends them. The next request of an ended session is refused. */
export function Sessions() {
  const from = useResource(readSessions, [], () => false);
  const end = async ({ token }: Session) => {
    if (await attempt("The session was not ended", () => callAuth("POST", "/revoke-session", { token }))) await from.reload();
  };
  return (
    <section class="card-panel">
      <div class="view-intro">
        <h2>Sessions</h2>
        {(from.data?.items.length ?? 0) > 1 && (
          <Confirm
            label="End all others"
            question="Every other browser has to sign in again."
            confirm="End the other sessions"
            failure="The sessions were not ended"
            act={() => callAuth("POST", "/revoke-other-sessions", {})}
            onDone={from.reload}
          />
        )}
      </div>
      <List what="the sessions" from={from} empty={["There are no sessions.", "You are signed in by a key."]}>
        {(session) => (
          <div class="row" key={session.id}>
            <div class="grow">
              <span class="row-head">
                <strong>{programOf(session.userAgent)}</strong>
                {session.isCurrent && <span class="badge accent">this one</span>}
              </span>
              <span class="muted">
                {session.ipAddress ? `${session.ipAddress} · ` : ""}signed in <Time at={session.createdAt} />
              </span>
            </div>
            {!session.isCurrent && (
              <button
                type="button"
                aria-label={`End the session of ${programOf(session.userAgent)}`}
                onClick={() => end(session)}
              >
                End
              </button>
            )}
          </div>
        )}
      </List>
    </section>
  );
}
