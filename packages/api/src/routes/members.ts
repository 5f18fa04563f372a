import { admin, member } from "@board/core/context/actor";
import { ReplaceMemberAccess, replaceMemberAccess } from "@board/core/organization/member-access";
import { getMember, getOwnMember, listMembers, Member } from "@board/core/organization/member";
import { removeMember } from "@board/core/organization/remove-member";
import { updateMember, UpdateMember } from "@board/core/organization/member-role";
import { pageOf, pageQuery } from "@board/core/lists/page";
import { Ok, ok } from "@board/core/values/wire";
import { endpoint, withPrefixes } from "../endpoint.ts";

const prefixes = ["/organizations/me", "/api/v1/organizations/me"] as const;
const itemPaths = withPrefixes(prefixes, "/members/{member_id}");

/** The members of the active organization. */
export const members = [
  endpoint(
    "GET",
    withPrefixes(prefixes, "/member"),
    // 404 is possible, because an admin may remove the member at the same time.
    {
      as: member,
      operation_id: "get_own_membership",
      summary: "Get the caller's membership",
      errors: [404],
      returns: Member,
    },
    (ctx) => getOwnMember(ctx),
  ),
  endpoint(
    "GET",
    withPrefixes(prefixes, "/members"),
    { as: member, summary: "List members", query: pageQuery(), returns: pageOf(Member) },
    (ctx, { query }) => listMembers(ctx, query),
  ),
  endpoint(
    "GET",
    itemPaths,
    {
      as: member,
      summary: "Get a member",
      errors: [403],
      description: "Only admins may get members other than themselves.",
      returns: Member,
    },
    (ctx, { params }) => getMember(ctx, params.member_id),
  ),
  endpoint(
    "PATCH",
    itemPaths,
    {
      as: admin,
      summary: "Change a member's role",
      description: "Board permissions are kept. An organization must keep at least one owner.",
      authorize: (ctx, params) => getMember(ctx, params.member_id),
      body: UpdateMember,
      returns: Member,
    },
    (ctx, { params, body }) => updateMember(ctx, params.member_id, body),
  ),
  endpoint(
    "PUT",
    withPrefixes(prefixes, "/members/{member_id}/access"),
    {
      as: admin,
      summary: "Replace a member's board permissions",
      description:
        "Replaces both flags and all per-board permissions. Permissions are additive: a per-board permission also applies when a flag is set.",
      authorize: (ctx, params) => getMember(ctx, params.member_id),
      body: ReplaceMemberAccess,
      returns: Member,
    },
    (ctx, { params, body }) => replaceMemberAccess(ctx, params.member_id, body),
  ),
  endpoint(
    "DELETE",
    itemPaths,
    {
      as: admin,
      summary: "Remove a member",
      description: "Only owners may remove owners, and nobody may remove themselves.",
      returns: Ok,
    },
    async (ctx, { params }) => {
      await removeMember(ctx, params.member_id);
      return ok;
    },
  ),
];
