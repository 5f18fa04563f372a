import { useRef, useState } from "preact/hooks";
import { api } from "../api.ts";
import { useResource } from "../resource.ts";
import { boardName, canWrite } from "../session.ts";
import { route, withQuery } from "../route.ts";
import { ApprovalRow } from "../task/approvals.tsx";
import type { UserNotification } from "../types.ts";
import { Empty, Loading, Problem } from "../ui/parts.tsx";
import { Select } from "../ui/select.tsx";
import { Time } from "../ui/time.tsx";
import { attempt } from "../ui/toast.tsx";
import { otherOrganization, toPlace } from "./place.ts";
import { toCount, unread } from "./unread.ts";

const LIST = "/api/v1/users/me/inbox";

const read = async (query: { unread?: boolean; cursor?: string }, signal: AbortSignal) => {
  const page = await api.get(LIST, { params: { query }, signal });
  unread.value = page.unread;
  return page;
};

const markRead = (ids: string[] | null) =>
  attempt("The inbox was not changed", async () => {
    unread.value = (await api.post(`${LIST}/read`, { body: { ids } })).unread;
  });

/** Lists the person's notifications, newest first. */
export function Items() {
  const { query } = route.value;
  const isUnreadOnly = query.get("show") === "unread";
  return <Notifications key={String(isUnreadOnly)} isUnreadOnly={isUnreadOnly} />;
}

/** Reads the newest pages, one after the other. */
async function readPages(count: number, isUnreadOnly: boolean, signal: AbortSignal) {
  const filter = isUnreadOnly ? { unread: true } : {};
  let page = await read(filter, signal);
  const items: UserNotification[] = [...page.items];
  for (let number = 1; number < count && page.next_cursor !== null; number++) {
    page = await read({ ...filter, cursor: page.next_cursor }, signal);
    items.push(...page.items);
  }
  return { items, next_cursor: page.next_cursor };
}

function Notifications({ isUnreadOnly }: { isUnreadOnly: boolean }) {
  /** How many pages are shown. All are read again together, because a new notification moves the others to later pages. */
  const pages = useRef(1);
  const { data, error, reload } = useResource(
    (signal) => readPages(pages.current, isUnreadOnly, signal),
    [],
    ({ type }) => type !== "run",
  );
  const items = data?.items ?? [];
  const showOlder = () => {
    pages.current++;
    void reload();
  };
  const markAsRead = async (ids: string[] | null) => {
    if (await markRead(ids)) await reload();
  };
  return (
    <>
      <div class="view-intro">
        <div class="filters">
          <Select
            label="Show"
            value={isUnreadOnly ? "unread" : ""}
            options={[
              ["", "All"],
              ["unread", "Unread"],
            ]}
            onChoose={(show) => (location.hash = withQuery(route.value.query, { show }))}
          />
        </div>
        <button type="button" disabled={unread.value === 0} onClick={() => markAsRead(null)}>
          Mark all as read
        </button>
      </div>
      <Problem error={error} retry={reload} />
      {!data && !error && <Loading what="your inbox" />}
      {data && items.length === 0 && (
        <Empty title={isUnreadOnly ? "Everything is read." : "You were not notified yet."}>
          Decisions that wait for you, mentions, and what happens to boards and tasks that you follow appear here.
        </Empty>
      )}
      {items.length > 0 && (
        <ul class="rows" aria-label={`Notifications, ${toCount(unread.value)} unread`}>
          {items.map((item) => (
            <Item key={item.id} item={item} onRead={() => markAsRead([item.id])} />
          ))}
        </ul>
      )}
      {data && data.next_cursor !== null && (
        <div class="actions">
          <button type="button" onClick={showOlder}>
            Show older ones
          </button>
        </div>
      )}
    </>
  );
}

const STATUS_LOOKS: Record<string, string> = { pending: "warning", approved: "success", rejected: "danger" };

function Item({ item, onRead }: { item: UserNotification; onRead: () => Promise<void> }) {
  const { title, text, type, status, board_id, actor, created_at, read_at } = item;
  const other = otherOrganization(item);
  const place = toPlace(item);
  const isUnread = read_at === null;
  const isOpen = status === "pending" && board_id !== null && canWrite(board_id);
  const about = [other?.name, board_id === null || other ? null : boardName(board_id), actor.name].filter(Boolean).join(", ");
  return (
    <li class={isUnread ? "row unread" : "row"}>
      <div class="grow">
        <span class="row-head">
          {place ? (
            <a href={place} dir="auto" onClick={() => isUnread && void onRead()}>
              {title}
            </a>
          ) : (
            <strong dir="auto">{title}</strong>
          )}
          {isUnread && <span class="badge accent">unread</span>}
          {status !== null && <span class={`badge ${STATUS_LOOKS[status] ?? ""}`}>{status}</span>}
        </span>
        <span class="muted" dir="auto">
          {about && `${about}, `}
          <Time at={created_at} />
        </span>
        {text !== null && type === "mention" && (
          <span class="text" dir="auto">
            {text}
          </span>
        )}
        {isOpen && <Decision item={item} onDecided={onRead} />}
      </div>
      {isUnread && (
        <div class="actions">
          <button type="button" class="small" aria-label={`Mark as read: ${title}`} onClick={onRead}>
            Mark as read
          </button>
        </div>
      )}
    </li>
  );
}

/**
 * Shows the approval or question itself, with its buttons. It is read when it is unfolded, because the inbox does not contain the
 * options to choose from.
 */
function Decision({ item, onDecided }: { item: UserNotification; onDecided: () => Promise<void> }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Decide</summary>
      {isOpen && <Asked item={item} onDecided={onDecided} />}
    </details>
  );
}

function Asked({ item, onDecided }: { item: UserNotification; onDecided: () => Promise<void> }) {
  const path = { board_id: item.board_id!, approval_id: item.subject_id };
  const { data, error, reload } = useResource(
    (signal) => api.get("/api/v1/boards/{board_id}/approvals/{approval_id}", { params: { path }, signal }),
    [item.subject_id],
    ({ type, board_id }) => type === "approval" && board_id === item.board_id,
    true,
  );
  return (
    <>
      <Problem error={error} retry={reload} />
      {!data && !error && <Loading what="what is asked" />}
      {data && <ApprovalRow approval={data} mayWrite onDecided={onDecided} />}
    </>
  );
}
