import { user } from "@board/core/context/actor";
import { getUserInbox, ReadInbox, readUserInbox, UnreadCount, UserInbox, UserInboxQuery } from "@board/core/people/inbox";
import { getPreferences, NotificationPreferences, UpdatePreferences, updatePreferences } from "@board/core/people/preferences";
import { endpoint } from "../endpoint.ts";

/** The calling person's notifications, and how this person wants to be notified. */
export const userInbox = [
  endpoint(
    "GET",
    "/api/v1/users/me/inbox",
    {
      as: user,
      summary: "Get your inbox",
      description:
        "Your notifications from all organizations, newest first, without those about boards that you may no longer read.",
      query: UserInboxQuery,
      returns: UserInbox,
    },
    (ctx, { query }) => getUserInbox(ctx, query),
  ),
  endpoint(
    "POST",
    "/api/v1/users/me/inbox/read",
    { as: user, summary: "Mark your inbox as read", body: ReadInbox, returns: UnreadCount },
    (ctx, { body }) => readUserInbox(ctx, body),
  ),
  endpoint(
    "GET",
    "/api/v1/users/me/notifications",
    { as: user, summary: "Get how you are notified", returns: NotificationPreferences },
    (ctx) => getPreferences(ctx),
  ),
  endpoint(
    "PUT",
    "/api/v1/users/me/notifications",
    {
      as: user,
      summary: "Change how you are notified",
      description: "Omitted fields keep their values.",
      body: UpdatePreferences,
      returns: NotificationPreferences,
    },
    (ctx, { body }) => updatePreferences(ctx, body),
  ),
];
