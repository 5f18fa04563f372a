import { admin, member } from "@board/core/actor";
import { ReplaceAccess, replaceAccess } from "@board/core/organization/access";
import { getMember, getOwnMember, listMembers, Member } from "@board/core/organization/member";
import { removeMember } from "@board/core/organization/member-removal";
import { changeRole, UpdateMember } from "@board/core/organization/role";
import { pageOf, pageQuery } from "@board/core/page";
import { Ok, ok } from "@board/core/wire";
import { endpoint, under } from "../endpoint.ts";

const both = ["/organizations/me", "/api/v1/organizations/me"] as const;
const one = under(both, "/members/{member_id}");

/** The members of the active organization. */
export const members = [
  endpoint(
    "GET",
    under(both, "/member"),
    { as: member, operation_id: "get_own_membership", summary: "Get the caller's membership", returns: Member },
    (ctx) => getOwnMember(ctx),
  ),
  endpoint(
    "GET",
    under(both, "/members"),
    { as: member, summary: "List members", query: pageQuery(), returns: pageOf(Member) },
    (ctx, { query }) => listMembers(ctx, query),
  ),
  endpoint(
    "GET",
    one,
    {
      as: member,
      summary: "Get a member",
      errors: [403],
      description: "Others than the caller for admins only.",
      returns: Member,
    },
    (ctx, { params }) => getMember(ctx, params.member_id),
  ),
  endpoint(
    "PATCH",
    one,
    {
      as: admin,
      summary: "Change a member's role",
      description: "The board rights stay. An organization keeps at least one owner.",
      reaches: (ctx, params) => getMember(ctx, params.member_id),
      body: UpdateMember,
      returns: Member,
    },
    (ctx, { params, body }) => changeRole(ctx, params.member_id, body),
  ),
  endpoint(
    "PUT",
    under(both, "/members/{member_id}/access"),
    {
      as: admin,
      summary: "Replace a member's board rights",
      description: "Both flags and all rows. Rights add up: rows count beside a flag that is set.",
      reaches: (ctx, params) => getMember(ctx, params.member_id),
      body: ReplaceAccess,
      returns: Member,
    },
    (ctx, { params, body }) => replaceAccess(ctx, params.member_id, body),
  ),
  endpoint(
    "DELETE",
    one,
    {
      as: admin,
      summary: "Remove a member",
      description: "Owners are removed by owners only, and nobody removes themselves.",
      returns: Ok,
    },
    async (ctx, { params }) => {
      await removeMember(ctx, params.member_id);
      return ok;
    },
  ),
];
