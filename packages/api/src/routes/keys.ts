import { admin, member } from "@board/core/context/actor";
import { CreateKey, createKey, createOwnKey, revokeKey, RotateKey, rotateKey } from "@board/core/key/change";
import { getKey, Key, listKeys, listOwnKeys, NewKey, readKey } from "@board/core/key/key";
import { pageOf, pageQuery } from "@board/core/lists/page";
import { Ok, ok } from "@board/core/values/wire";
import { endpoint } from "../endpoint.ts";

const paths = "/api/v1/keys";
const item = `${paths}/{key_id}` as const;

/** Keys of the active organization. */
export const keys = [
  endpoint(
    "GET",
    paths,
    {
      as: admin,
      summary: "List keys",
      description: "The keys of the organization and those of its members, newest first.",
      query: pageQuery(),
      returns: pageOf(Key),
    },
    (ctx, { query }) => listKeys(ctx, query),
  ),
  endpoint(
    "POST",
    paths,
    {
      as: admin,
      summary: "Create a key",
      description: "For a program. It acts under its own name, with these rights and no others.",
      errors: [409, 422],
      secrets: ["key"],
      body: CreateKey,
      returns: NewKey,
    },
    (ctx, { body }) => createKey(ctx, body),
  ),
  endpoint("GET", item, { as: admin, summary: "Get a key", returns: Key }, (ctx, { params }) => getKey(ctx, params.key_id)),
  endpoint(
    "POST",
    `${item}/rotate`,
    {
      as: admin,
      summary: "Rotate a key",
      description: "Gives the key a new token. Personal keys are rotated by their owner.",
      errors: [409, 422],
      secrets: ["key"],
      authorize: (ctx, params) => getKey(ctx, params.key_id),
      body: RotateKey,
      returns: NewKey,
    },
    (ctx, { params, body }) => rotateKey(ctx, params.key_id, "organization", body),
  ),
  endpoint(
    "DELETE",
    item,
    {
      as: admin,
      summary: "Revoke a key",
      description: "Also revokes personal keys. The key stops working at once.",
      returns: Ok,
    },
    async (ctx, { params }) => {
      await revokeKey(ctx, params.key_id, "any");
      return ok;
    },
  ),
];

const ownPaths = "/api/v1/users/me/keys";
const ownItem = `${ownPaths}/{key_id}` as const;

/** Keys with the rights of the person who creates them. */
export const ownKeys = [
  endpoint(
    "GET",
    ownPaths,
    { as: member, summary: "List personal keys", errors: [403], query: pageQuery(), returns: pageOf(Key) },
    (ctx, { query }) => listOwnKeys(ctx, query),
  ),
  endpoint(
    "POST",
    ownPaths,
    {
      as: member,
      operation_id: "create_personal_key",
      summary: "Create a personal key",
      description:
        "The key has the caller's rights in the active organization, limited to the access and boards in the body. It ends with the membership.",
      errors: [403, 409, 422],
      secrets: ["key"],
      body: CreateKey,
      returns: NewKey,
    },
    (ctx, { body }) => createOwnKey(ctx, body),
  ),
  endpoint(
    "POST",
    `${ownItem}/rotate`,
    {
      as: member,
      operation_id: "rotate_personal_key",
      summary: "Rotate a personal key",
      errors: [403, 409, 422],
      secrets: ["key"],
      authorize: (ctx, params) => readKey(ctx, params.key_id, "caller"),
      body: RotateKey,
      returns: NewKey,
    },
    (ctx, { params, body }) => rotateKey(ctx, params.key_id, "caller", body),
  ),
  endpoint(
    "DELETE",
    ownItem,
    { as: member, operation_id: "revoke_personal_key", summary: "Revoke a personal key", returns: Ok },
    async (ctx, { params }) => {
      await revokeKey(ctx, params.key_id, "caller");
      return ok;
    },
  ),
];
