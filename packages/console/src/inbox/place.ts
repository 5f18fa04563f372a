import { toBoard, toTask, toView } from "../route.ts";
import { isAdmin, organizations } from "../session.ts";
import type { UserNotification } from "../types.ts";

/** The pages for notifications that are not about a task. Only owners and admins are led to these pages. */
const PAGES: Partial<Record<UserNotification["type"], (subject_id: string) => string>> = {
  "budget.warned": () => toView("usage"),
  "budget.exhausted": () => toView("usage"),
  "gateway.down": (gateway_id) => toView("gateways", gateway_id),
  "agent.silent": (agent_id) => toView("agents", agent_id),
  "delivery.dead": () => toView("organization", "subscriptions"),
};

/** Returns the organization of a notification, or undefined if it is the active organization. */
export const otherOrganization = ({ organization_id }: Pick<UserNotification, "organization_id">) =>
  organizations.value.find(({ id, is_active }) => id === organization_id && !is_active);

/**
 * Returns the address that a notification leads to. It names the organization if another one is active, so that the console
 * switches the organization.
 */
export function toPlace(item: UserNotification): string | null {
  const place = placeOf(item);
  return place && otherOrganization(item) ? `${place}?organization=${item.organization_id}` : place;
}

function placeOf({ type, subject_id, board_id, task_id }: UserNotification): string | null {
  const page = isAdmin.value ? PAGES[type] : undefined;
  if (page) return page(subject_id);
  if (board_id === null) return null;
  return task_id === null ? toBoard(board_id) : toTask(board_id, task_id);
}
