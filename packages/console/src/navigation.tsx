import { signal } from "@preact/signals";
import { MissingWay } from "./account/missing.tsx";
import { leave } from "./inbox/browser.ts";
import { toCount, unread } from "./inbox/unread.ts";
import { type OrganizationView, route, toBoard, toView } from "./route.ts";
import { boards, isAdmin, organizations, switchOrganization } from "./session.ts";
import { nextTheme, theme } from "./theme.ts";
import { attempt } from "./ui/toast.tsx";
import { optionOf, Select } from "./ui/select.tsx";

export const isHelpOpen = signal(false);
export const isJumpOpen = signal(false);

interface Link {
  view: OrganizationView;
  label: string;
  /** The key that follows `g`. */
  key: string;
  /** Whether only owners and admins may read the view. */
  isForAdmins?: true;
}

/** The views of every organization: first the views for daily work, then the views for setup. */
export const LINKS: readonly Link[] = [
  { view: "needs-you", label: "Needs you", key: "n" },
  { view: "inbox", label: "Inbox", key: "i" },
  { view: "overview", label: "Overview", key: "o" },
  { view: "activity", label: "Activity", key: "a" },
  { view: "agents", label: "Agents", key: "t" },
  { view: "webhooks", label: "Webhooks", key: "w" },
  { view: "usage", label: "Usage", key: "u" },
  { view: "skills", label: "Skills", key: "s", isForAdmins: true },
  { view: "gateways", label: "Gateways", key: "h", isForAdmins: true },
  { view: "organization", label: "Organization", key: "m" },
  { view: "personal", label: "You", key: "y" },
];

export const shownLinks = (): readonly Link[] => LINKS.filter(({ isForAdmins }) => !isForAdmins || isAdmin.value);

export function Navigation() {
  const { view, board_id } = route.value;
  const current = (isCurrent: boolean) => (isCurrent ? ("page" as const) : undefined);
  return (
    <nav class="nav" aria-label="Main">
      <div class="brand">Board</div>
      {organizations.value.length > 1 && (
        <Select
          label="Organization"
          value={organizations.value.find((item) => item.is_active)?.id ?? ""}
          options={organizations.value.map(optionOf)}
          onChoose={(id) => attempt("The organization was not changed", () => switchOrganization(id))}
        />
      )}
      <div class="nav-links">
        {shownLinks().map((link) => (
          <a key={link.view} href={toView(link.view)} aria-current={current(view === link.view)}>
            {link.label}
            {link.view === "inbox" && unread.value > 0 && (
              <span class="count">
                {toCount(unread.value)}
                <span class="visually-hidden"> unread</span>
              </span>
            )}
          </a>
        ))}
      </div>
      <div class="nav-more">
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
          <MissingWay />
          <button type="button" class="plain" onClick={() => (isJumpOpen.value = true)}>
            Jump to … <kbd>Ctrl K</kbd>
          </button>
          <button type="button" class="plain" onClick={nextTheme} title="Light, dark or as the system">
            Theme: {theme.value}
          </button>
          <button type="button" class="plain keyboard" onClick={() => (isHelpOpen.value = true)}>
            Keyboard <kbd>?</kbd>
          </button>
          <a class="reference" href="/docs">
            API reference
          </a>
          <button type="button" class="plain" onClick={leave}>
            Sign out
          </button>
        </div>
      </div>
    </nav>
  );
}
