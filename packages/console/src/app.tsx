import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { messageOf, reachable, refused, signedIn, signOut } from "./api.ts";
import { BoardView } from "./board/board.tsx";
import { hasReturned } from "./oidc.ts";
import { go, replace, route, toBoard, toView, type ViewName } from "./route.ts";
import { boards, isAdmin, loadSession, member, organizations, switchOrganization } from "./session.ts";
import { nextTheme, theme } from "./theme.ts";
import { Dialog, Loading, Problem } from "./ui/parts.tsx";
import { attempt, Notices } from "./ui/toast.tsx";
import { Activity } from "./views/activity.tsx";
import { Agents } from "./views/agents.tsx";
import { FirstUse } from "./views/first-use.tsx";
import { Help } from "./views/help.tsx";
import { NeedsYou } from "./views/needs-you.tsx";
import { SignInForm, SignInPage } from "./views/sign-in.tsx";
import { Webhooks } from "./views/webhooks.tsx";

const isHelpOpen = signal(false);
const startError = signal<string | null>(null);
/** The board that was shown last, for the way back. */
const lastBoard = signal<string | null>(sessionStorage.getItem("board.last"));

const LINKS: { view: ViewName; label: string; key: string }[] = [
  { view: "needs-you", label: "Needs you", key: "n" },
  { view: "activity", label: "Activity", key: "a" },
  { view: "agents", label: "Agents", key: "t" },
  { view: "webhooks", label: "Webhooks", key: "w" },
];

async function start(): Promise<void> {
  startError.value = null;
  try {
    await loadSession();
  } catch (error) {
    startError.value = messageOf(error);
  }
}

/** The board to show when the address names none. */
function homeBoard(): string | null {
  const list = boards.value ?? [];
  return (list.find((board) => board.id === lastBoard.value) ?? list[0])?.id ?? null;
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);

/** Keys that work in every view. `g` begins the name of a view. */
function useShortcuts(): void {
  useEffect(() => {
    let isGoing = false;
    const onKey = (event: KeyboardEvent) => {
      if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
      if (document.querySelector("dialog[open]")) return;
      const wasGoing = isGoing;
      isGoing = event.key === "g";
      const link = wasGoing && LINKS.find(({ key }) => key === event.key);
      const board_id = homeBoard();
      if (link) go(toView(link.view));
      else if (wasGoing && event.key === "b" && board_id) go(toBoard(board_id));
      else if (event.key === "?") isHelpOpen.value = true;
      else if (event.key === "t") nextTheme();
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

export function App() {
  const isIn = signedIn.value && !hasReturned();
  useEffect(() => {
    if (isIn) void start();
  }, [isIn]);
  useShortcuts();
  return (
    <>
      {isIn ? <Shell /> : <SignInPage />}
      {isIn && refused.value && (
        <Dialog title="Sign in again" onClose={() => {}}>
          <p>Your session has ended. What you have typed is kept, and what you did last is sent after you sign in.</p>
          <SignInForm />
        </Dialog>
      )}
      {isHelpOpen.value && <Help onClose={() => (isHelpOpen.value = false)} />}
      <Notices />
    </>
  );
}

function Shell() {
  const { view, board_id } = route.value;
  const home = homeBoard();
  useEffect(() => {
    if (boards.value === null) return;
    if (view === "home") replace(home ? toBoard(home) : toView("start"));
    if (view === "board" && board_id) {
      lastBoard.value = board_id;
      sessionStorage.setItem("board.last", board_id);
    }
  }, [view, board_id, boards.value === null, home]);
  return (
    <div class="shell">
      <a class="skip" href="#content" onClick={skip}>
        Skip to the content
      </a>
      <Navigation />
      <div class="content" id="content" tabIndex={-1}>
        {!reachable.value && (
          <p class="offline" role="status">
            The service does not answer. The page goes on by itself when it runs again.
          </p>
        )}
        <Problem error={startError.value} retry={start} />
        {member.value && boards.value ? <View /> : startError.value === null && <Loading what="your boards" />}
      </div>
    </div>
  );
}

/** The fragment names the view, so the link must not change it. */
function skip(event: Event): void {
  event.preventDefault();
  document.getElementById("content")?.focus();
}

function View() {
  const { view, board_id, task_id } = route.value;
  if (view === "board") return <BoardView board_id={board_id!} task_id={task_id} />;
  if (view === "needs-you") return <NeedsYou />;
  if (view === "activity") return <Activity />;
  if (view === "agents") return <Agents />;
  if (view === "webhooks") return <Webhooks board_id={board_id ?? homeBoard()} />;
  if (view === "start") return <FirstUse />;
  return null;
}

function Navigation() {
  const { view, board_id } = route.value;
  const current = (isCurrent: boolean) => (isCurrent ? ("page" as const) : undefined);
  return (
    <nav class="nav" aria-label="Main">
      <div class="brand">Board</div>
      {organizations.value.length > 1 && (
        <select
          aria-label="Organization"
          value={organizations.value.find((item) => item.is_active)?.id ?? ""}
          onChange={(event) => attempt("The organization was not changed", () => switchOrganization(event.currentTarget.value))}
        >
          {organizations.value.map((item) => (
            <option key={item.id} value={item.id}>
              {item.name}
            </option>
          ))}
        </select>
      )}
      <div class="nav-links">
        {LINKS.map((link) => (
          <a key={link.view} href={toView(link.view)} aria-current={current(view === link.view)}>
            {link.label}
          </a>
        ))}
      </div>
      <h2 class="nav-heading" id="boards-heading">
        Boards
      </h2>
      <ul class="nav-boards" aria-labelledby="boards-heading">
        {boards.value?.map((board) => (
          <li key={board.id}>
            <a href={toBoard(board.id)} aria-current={current(view === "board" && board_id === board.id)} dir="auto">
              {board.name}
            </a>
          </li>
        ))}
        {isAdmin.value && (
          <li>
            <a class="muted" href={toView("start")} aria-current={current(view === "start")}>
              New board
            </a>
          </li>
        )}
      </ul>
      <div class="nav-foot">
        <button type="button" class="plain" onClick={nextTheme} title="Light, dark or as the system">
          Theme: {theme.value}
        </button>
        <button type="button" class="plain" onClick={() => (isHelpOpen.value = true)}>
          Keyboard <kbd>?</kbd>
        </button>
        <a href="/docs">API reference</a>
        <button type="button" class="plain" onClick={signOut}>
          Sign out
        </button>
      </div>
    </nav>
  );
}
