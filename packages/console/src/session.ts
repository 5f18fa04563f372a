import { computed, effect, signal } from "@preact/signals";
import { api, isStatus, refused } from "./api.ts";
import { removeDrafts } from "./draft.ts";
import { onChanges } from "./live.ts";
import { replace, route, withQuery } from "./route.ts";
import type { Board, Member, Organization } from "./types.ts";

/** The person who is signed in, with the rights in the active organization. Null until it is known. */
export const member = signal<Member | null>(null);
/** The boards that the person may read. Null until they are known. */
export const boards = signal<readonly Board[] | null>(null);

export const organizations = signal<readonly Organization[]>([]);

/** Changes the person's active organization. */
export async function switchOrganization(organization_id: string): Promise<void> {
  await api.patch("/api/v1/organizations/me/active", { body: { organization_id } });
  location.assign("/");
}

/** Accepts an invite. The person joins its organization, and works in it from then on. */
export async function joinOrganization(token: string): Promise<void> {
  const { organization_id } = await api.post("/api/v1/organizations/invites/accept", { body: { token } });
  await switchOrganization(organization_id);
}

/** The organization that a link in a message names, if the person belongs to it and another organization is active. */
export const linkedOrganization = computed(() => {
  const wanted = route.value.query.get("organization");
  return organizations.value.find(({ id, is_active }) => id === wanted && !is_active) ?? null;
});

/** Switches to the organization that a link names, and stays on the linked page. */
export async function followLink(): Promise<void> {
  const organization_id = linkedOrganization.value?.id;
  if (organization_id) await api.patch("/api/v1/organizations/me/active", { body: { organization_id } });
  replace(withQuery(route.value.query, { organization: "" }));
  if (organization_id) location.reload();
}

export const isAdmin = computed(() => member.value !== null && member.value.role !== "member");

export function canWrite(board_id: string | null): boolean {
  const who = member.value;
  // The member's rights apply to the active organization, and `boards` contains only its boards.
  if (!who || !boards.value?.some((board) => board.id === board_id)) return false;
  return who.all_boards_write || who.board_access.some((access) => access.board_id === board_id && access.can_write);
}

const PAGE = 200;

export async function loadBoards(): Promise<void> {
  const { items } = await api.get("/api/v1/boards", { params: { query: { limit: PAGE } } });
  boards.value = items.toSorted((one, other) => one.name.localeCompare(other.name));
}

export async function loadSession(): Promise<void> {
  // At the first sign-in, this creates the person's user and organization.
  await api.post("/api/v1/auth/bootstrap");
  const [who, list] = await Promise.all([
    api.get("/api/v1/organizations/me/member"),
    api.get("/api/v1/organizations/me/list"),
    loadBoards(),
  ]);
  organizations.value = list;
  member.value = who;
}

let hasEnded = false;
effect(() => {
  if (refused.value) hasEnded = true;
  else if (hasEnded) {
    hasEnded = false;
    requireSamePerson().catch(() => {});
  }
});

/** Loads the page again if another person has signed in after a session ended, because it shows the first person's data. */
async function requireSamePerson(): Promise<void> {
  const before = member.peek()?.user_id;
  if (before === undefined) return;
  const now = await api.get("/api/v1/users/me").catch((error: unknown) => {
    if (isStatus(error, 404)) return null;
    throw error;
  });
  if (now?.id === before) return;
  removeDrafts();
  location.reload();
}

export const boardName = (board_id: string | null): string =>
  boards.value?.find((board) => board.id === board_id)?.name ?? "a board";

onChanges((changes) => {
  if (boards.value && (changes === "reset" || changes.some((change) => change.type === "board"))) loadBoards().catch(() => {});
});
