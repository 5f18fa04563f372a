import { admin, user } from "@board/core/context/actor";
import { AcceptInvite, acceptInvite } from "@board/core/organization/accept-invite";
import { CreateInvite, createInvite, Invite, listInvites, removeInvite } from "@board/core/organization/invite";
import { Member } from "@board/core/organization/member";
import { pageOf, pageQuery } from "@board/core/lists/page";
import { endpoint, withPrefixes } from "../endpoint.ts";

const prefixes = ["/organizations", "/api/v1/organizations"] as const;
const collectionPaths = withPrefixes(prefixes, "/me/invites");

/** Invites to the active organization. */
export const invites = [
  endpoint(
    "GET",
    collectionPaths,
    {
      as: admin,
      summary: "List open invites",
      description: "Includes the tokens, so that they can be passed on.",
      query: pageQuery(),
      returns: pageOf(Invite),
    },
    (ctx, { query }) => listInvites(ctx, query),
  ),
  endpoint(
    "POST",
    collectionPaths,
    {
      as: admin,
      summary: "Create an invite",
      errors: [409],
      description:
        "With accounts and a mail server, the invited person gets the token by e-mail; otherwise pass it on. Invites do not expire.",
      body: CreateInvite,
      returns: Invite,
    },
    (ctx, { body }) => createInvite(ctx, body),
  ),
  endpoint(
    "DELETE",
    withPrefixes(prefixes, "/me/invites/{invite_id}"),
    {
      as: admin,
      summary: "Delete an invite",
      description: "Revokes an open invite. A person who has accepted it stays a member. Returns the deleted invite.",
      returns: Invite,
    },
    (ctx, { params }) => removeInvite(ctx, params.invite_id),
  ),
  endpoint(
    "POST",
    withPrefixes(prefixes, "/invites/accept"),
    {
      as: user,
      operation_id: "accept_invite",
      summary: "Accept an invite",
      errors: [403],
      description: "Makes the caller a member. An existing member keeps their permissions and gains those of the invite.",
      body: AcceptInvite,
      returns: Member,
    },
    (ctx, { body }) => acceptInvite(ctx, body),
  ),
];
