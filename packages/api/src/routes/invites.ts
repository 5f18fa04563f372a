import { admin, user } from "@board/core/actor";
import { AcceptInvite, acceptInvite } from "@board/core/organization/acceptance";
import { CreateInvite, createInvite, Invite, listInvites, removeInvite } from "@board/core/organization/invite";
import { Member } from "@board/core/organization/member";
import { pageOf, pageQuery } from "@board/core/page";
import { endpoint, under } from "../endpoint.ts";

const both = ["/organizations", "/api/v1/organizations"] as const;
const all = under(both, "/me/invites");

/** Ways into the active organization. */
export const invites = [
  endpoint(
    "GET",
    all,
    {
      as: admin,
      summary: "List open invites",
      description: "With their tokens, for handing them on.",
      query: pageQuery(),
      returns: pageOf(Invite),
    },
    (ctx, { query }) => listInvites(ctx, query),
  ),
  endpoint(
    "POST",
    all,
    {
      as: admin,
      summary: "Invite somebody",
      errors: [409],
      description: "No mail is sent: the token is handed to the invited person. Invites do not expire.",
      body: CreateInvite,
      returns: Invite,
    },
    (ctx, { body }) => createInvite(ctx, body),
  ),
  endpoint(
    "DELETE",
    under(both, "/me/invites/{invite_id}"),
    {
      as: admin,
      summary: "Delete an invite",
      description: "Revokes an open one. Who accepted already stays a member. Answers with what was deleted.",
      returns: Invite,
    },
    (ctx, { params }) => removeInvite(ctx, params.invite_id),
  ),
  endpoint(
    "POST",
    under(both, "/invites/accept"),
    {
      as: user,
      operation_id: "accept_invite",
      summary: "Accept an invite",
      errors: [403],
      description: "Makes the caller a member. A member keeps what it has and gets what the invite gives beyond that.",
      body: AcceptInvite,
      returns: Member,
    },
    (ctx, { body }) => acceptInvite(ctx, body),
  ),
];
