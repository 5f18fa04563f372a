import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { renewSession } from "./accounts.ts";
import { messageOf, reachable, refused, signedIn } from "./api.ts";
import { BoardView } from "./board/board.tsx";
import { renewBrowser } from "./inbox/browser.ts";
import { isHelpOpen, isJumpOpen, Navigation, shownLinks } from "./navigation.tsx";
import { hasReturned } from "./oidc.ts";
import { openedAddress, openedInvite } from "./opened-links.ts";
import { useRetry } from "./resource.ts";
import { go, replace, route, toBoard, toView, type ViewName } from "./route.ts";
import { boards, followLink, isAdmin, linkedOrganization, loadSession, member } from "./session.ts";
import { answerOffer, isCheckingLink, offeredToken } from "./sign-in-link.ts";
import { nextTheme } from "./theme.ts";
import { lazy } from "./ui/lazy.tsx";
import { Dialog, Loading, Problem } from "./ui/parts.tsx";
import { Notices } from "./ui/toast.tsx";
import { AddressCheck } from "./views/address-check.tsx";
import { Help } from "./views/help.tsx";
import { OfferedInvite } from "./views/offered-invite.tsx";
import { SignInForm, SignInPage } from "./views/sign-in.tsx";

const Activity = lazy("the activity", async () => (await import("./views/activity.tsx")).Activity);
const Agents = lazy("the agents", async () => (await import("./views/agents.tsx")).Agents);
const AgentPage = lazy("the agent", async () => (await import("./agent/agent.tsx")).AgentPage);
const FirstUse = lazy("the first steps", async () => (await import("./views/first-use.tsx")).FirstUse);
const Jump = lazy("the search", async () => (await import("./jump/jump.tsx")).Jump);
const InboxPage = lazy("the inbox", async () => (await import("./inbox/inbox.tsx")).InboxPage);
const NeedsYou = lazy("what needs you", async () => (await import("./views/needs-you.tsx")).NeedsYou);
const ConnectPage = lazy("the program", async () => (await import("./views/consent.tsx")).ConnectPage);
const DevicePage = lazy("the device", async () => (await import("./views/consent.tsx")).DevicePage);
const Webhooks = lazy("the webhooks", async () => (await import("./webhook/webhooks.tsx")).Webhooks);
const Usage = lazy("the usage", async () => (await import("./usage/usage.tsx")).Usage);
const Overview = lazy("the overview", async () => (await import("./overview/overview.tsx")).Overview);
const OrganizationPage = lazy("the organization", async () => (await import("./organization/organization.tsx")).OrganizationPage);
const Personal = lazy("your pages", async () => (await import("./personal/personal.tsx")).Personal);
const Gateways = lazy("the gateways", async () => (await import("./gateway/gateways.tsx")).Gateways);
const GatewayPage = lazy("the gateway", async () => (await import("./gateway/gateway.tsx")).GatewayPage);
const Skills = lazy("the skills", async () => (await import("./skill/skills.tsx")).Skills);
const Souls = lazy("the souls", async () => (await import("./skill/souls.tsx")).Souls);
const BoardSettings = lazy("the settings", async () => (await import("./board-settings/settings.tsx")).BoardSettings);
const Onboarding = lazy("the onboarding", async () => (await import("./board-settings/onboarding.tsx")).Onboarding);

const DAY_MS = 86_400_000;

const startError = signal<string | null>(null);
/** The board that was shown last. It opens again when the address names no board. */
const lastBoard = signal<string | null>(sessionStorage.getItem("board.last"));

async function start(): Promise<void> {
  startError.value = null;
  try {
    await loadSession();
    renewBrowser().catch(() => {});
    renewSession().catch(() => {});
  } catch (error) {
    startError.value = messageOf(error);
  }
}

/** Returns the board to show when the address names none. */
function homeBoard(): string | null {
  const list = boards.value ?? [];
  return (list.find((board) => board.id === lastBoard.value) ?? list[0])?.id ?? null;
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);

/** Handles keys that work in every view. `g` and then another key opens a view. */
function useShortcuts(): void {
  useEffect(() => {
    let isGoing = false;
    const onKey = (event: KeyboardEvent) => {
      if (event.key === "k" && (event.ctrlKey || event.metaKey) && signedIn.value && !document.querySelector("dialog[open]")) {
        event.preventDefault();
        isJumpOpen.value = true;
        return;
      }
      if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
      if (document.querySelector("dialog[open]")) return;
      const wasGoing = isGoing;
      isGoing = event.key === "g";
      const link = wasGoing && shownLinks().find(({ key }) => key === event.key);
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
    if (!isIn) return;
    void start();
    const renewal = setInterval(() => renewSession().catch(() => {}), DAY_MS);
    return () => clearInterval(renewal);
  }, [isIn]);
  useShortcuts();
  return (
    <>
      {isIn ? <Shell /> : isCheckingLink.value ? <Loading what="your account" /> : <SignInPage />}
      {offeredToken.value !== null && (
        <Dialog title="Sign in by this link?" onClose={() => answerOffer(false)}>
          <p>You are signed in already. Go on only if the link is from the start of your own service.</p>
          <div class="actions">
            <button type="button" class="primary" onClick={() => answerOffer(true)}>
              Sign in by the link
            </button>
            <button type="button" onClick={() => answerOffer(false)}>
              Stay signed in
            </button>
          </div>
        </Dialog>
      )}
      {isIn && refused.value && offeredToken.value === null && (
        <Dialog title="Sign in again" onClose={() => {}}>
          <p>Your session has ended. What you have typed is kept, and what you did last is sent after you sign in.</p>
          <SignInForm />
        </Dialog>
      )}
      {isIn && !refused.value && openedInvite.value !== null && <OfferedInvite token={openedInvite.value} />}
      {isIn && !refused.value && openedAddress.value !== null && <AddressCheck token={openedAddress.value} />}
      {isHelpOpen.value && <Help onClose={() => (isHelpOpen.value = false)} />}
      {isIn && isJumpOpen.value && <Jump onClose={() => (isJumpOpen.value = false)} />}
      <Notices />
    </>
  );
}

function Shell() {
  const { view, board_id, query } = route.value;
  const isReady = member.value !== null && boards.value !== null;
  const isLinked = query.has("organization");
  const home = homeBoard();
  useRetry(startError.value, start);
  useEffect(() => {
    if (boards.value === null) return;
    if (view === "home") replace(home ? toBoard(home) : toView("start"));
    if (view === "board" && board_id) {
      lastBoard.value = board_id;
      sessionStorage.setItem("board.last", board_id);
    }
  }, [view, board_id, boards.value === null, home]);
  // A member who had no board yet was sent to the first steps. The page leaves them once there is a board.
  const isPastStart = isReady && view === "start" && !isAdmin.value && home !== null;
  useEffect(() => {
    if (isPastStart) replace(toBoard(home));
  }, [isPastStart]);
  useEffect(() => {
    if (isReady && isLinked) followLink().catch((error: unknown) => (startError.value = messageOf(error)));
  }, [isReady, isLinked]);
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
        {isReady && !linkedOrganization.value ? <View /> : startError.value === null && <Loading what="your boards" />}
      </div>
    </div>
  );
}

/** Moves the focus without following the link, because the fragment names the view. */
function skip(event: Event): void {
  event.preventDefault();
  document.getElementById("content")?.focus();
}

const VIEWS: Partial<Record<ViewName, ComponentType>> = {
  overview: Overview,
  "needs-you": NeedsYou,
  inbox: InboxPage,
  activity: Activity,
  usage: Usage,
  organization: OrganizationPage,
  personal: Personal,
  skills: Skills,
  souls: Souls,
  start: FirstUse,
  connect: ConnectPage,
  device: DevicePage,
};

function View() {
  const { view, board_id, task_id, path } = route.value;
  const [item] = path;
  if (view === "board") return <BoardView board_id={board_id!} task_id={task_id} />;
  if (view === "settings") return <BoardSettings key={board_id} board_id={board_id!} />;
  if (view === "onboarding") return <Onboarding key={board_id} board_id={board_id!} />;
  if (view === "agents") return item ? <AgentPage key={item} agent_id={item} /> : <Agents />;
  if (view === "gateways") return item ? <GatewayPage key={item} gateway_id={item} /> : <Gateways />;
  if (view === "webhooks") return <Webhooks board_id={board_id ?? homeBoard()} />;
  const Page = VIEWS[view];
  return Page ? <Page /> : null;
}
