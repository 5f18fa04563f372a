import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { errorText, type Log } from "../values/log.ts";

/**
 * Notifies all processes of a database when rows of organizations have changed. Notifications may be lost, because every process
 * also polls for changes.
 */
interface ChangeChannel {
  /** Records a committed change. Never throws and never waits. */
  note(this: void, organization_id: string): void;
  /** Calls `onChange` after changes by any process, including this one. */
  listen(onChange: (organizations: ReadonlySet<string>) => void): void;
  close(): Promise<void>;
}

const CHANNEL = "board_changes";
/**
 * The minimum time between two notifications of a process, in milliseconds. Changes in between are sent as one notification.
 * PostgreSQL commits the notifications of all sessions one after the other, so a process must not send too many.
 */
const COLLECT_MS = 25;
/**
 * The maximum number of ids in a notification. PostgreSQL allows 8,000 bytes, and an id takes 37. Other processes learn of the
 * remaining organizations at their next poll.
 */
const MAX_IDS = 200;
const RECONNECT_MS = 5_000;
/**
 * The maximum time to open a connection. The driver has no such limit for a database that accepts the connection but never
 * answers.
 */
const CONNECT_MS = 10_000;

/**
 * Opens a channel with its own connection. The connection must be direct, because a pooler would run LISTEN in some other
 * session.
 */
export function openChangeChannel(url: string, log: Log): ChangeChannel {
  const listeners: ((organizations: ReadonlySet<string>) => void)[] = [];
  const own = crypto.randomUUID();
  let changed = new Set<string>();
  /** Changes that the other processes have not been notified of yet. */
  let unsent = new Set<string>();
  let isSending = false;
  let timer: NodeJS.Timeout | undefined;
  let told_at = -COLLECT_MS;
  let client: pg.Client | undefined;
  const closing = new AbortController();

  const tell = (organizations: ReadonlySet<string>) => listeners.forEach((onChange) => onChange(organizations));

  function receive(payload: string | undefined): void {
    const [from, ...organizations] = (payload ?? "").split(",");
    if (from !== own && organizations.length > 0) tell(new Set(organizations));
  }

  async function connect(): Promise<void> {
    const connecting = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: CONNECT_MS,
      keepAlive: true,
      application_name: "board-changes",
    });
    const lost = new Promise<void>((resolve) => {
      connecting.on("error", (error) => {
        log.warn("changes.connection_lost", errorText(error));
        resolve();
      });
      connecting.on("end", resolve);
    });
    connecting.on("notification", ({ payload }) => receive(payload));
    try {
      await connecting.connect();
      await connecting.query(`listen ${CHANNEL}`);
      client = connecting;
      if (closing.signal.aborted) return;
      await Promise.race([lost, aborted]);
    } catch (error) {
      log.warn("changes.not_connected", `Other processes learn of changes by their polls: ${errorText(error)}`);
    } finally {
      client = undefined;
      await connecting.end().catch(() => {});
    }
  }

  const aborted = new Promise<void>((resolve) => closing.signal.addEventListener("abort", () => resolve()));
  async function stayConnected(): Promise<void> {
    while (!closing.signal.aborted) {
      await connect();
      await pause(RECONNECT_MS, undefined, { ref: false, signal: closing.signal }).catch(() => {});
    }
  }
  const connection = stayConnected();

  function tellAll(): void {
    timer = undefined;
    told_at = performance.now();
    const organizations = changed;
    changed = new Set();
    tell(organizations);
    unsent = unsent.union(organizations);
    if (!isSending) void send();
  }

  /** Sends one notification at a time: while a busy database takes long for one, more changes are collected for the next. */
  async function send(): Promise<void> {
    isSending = true;
    while (unsent.size > 0) {
      const payload = [own, ...[...unsent].slice(0, MAX_IDS)].join(",");
      unsent = new Set();
      await client?.query("select pg_notify($1, $2)", [CHANNEL, payload]).catch((error: unknown) => {
        log.warn("changes.not_sent", errorText(error));
      });
    }
    isSending = false;
  }

  return {
    note(organization_id) {
      changed.add(organization_id);
      timer ??= setTimeout(tellAll, Math.max(0, told_at + COLLECT_MS - performance.now())).unref();
    },
    listen: (onChange) => void listeners.push(onChange),
    async close() {
      clearTimeout(timer);
      closing.abort();
      await connection;
    },
  };
}
