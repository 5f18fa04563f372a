import { admin } from "@board/core/actor";
import {
  CreateGateway,
  createGateway,
  Gateway,
  getGateway,
  listGateways,
  removeGateway,
  UpdateGateway,
  updateGateway,
} from "@board/core/gateway/gateway";
import { pageOf, pageQuery } from "@board/core/page";
import { Ok, ok } from "@board/core/wire";
import { endpoint } from "../endpoint.ts";

/** OpenClaw hosts that run the agents. */
export const gateways = [
  endpoint(
    "GET",
    "/api/v1/gateways",
    { as: admin, summary: "List gateways", query: pageQuery(), returns: pageOf(Gateway) },
    (ctx, { query }) => listGateways(ctx, query),
  ),
  endpoint(
    "POST",
    "/api/v1/gateways",
    {
      as: admin,
      summary: "Register a gateway",
      description:
        "The host is tried for at most 10 s. One that cannot be reached is registered all the same; `last_error` says why.",
      body: CreateGateway,
      returns: Gateway,
    },
    (ctx, { body }) => createGateway(ctx, body),
  ),
  endpoint("GET", "/api/v1/gateways/{gateway_id}", { as: admin, summary: "Get a gateway", returns: Gateway }, (ctx, { params }) =>
    getGateway(ctx, params.gateway_id),
  ),
  endpoint(
    "PATCH",
    "/api/v1/gateways/{gateway_id}",
    {
      as: admin,
      summary: "Change a gateway",
      description: "A changed address, token or flag is tried first. The masked token means the stored one.",
      reaches: (ctx, params) => getGateway(ctx, params.gateway_id),
      body: UpdateGateway,
      returns: Gateway,
    },
    (ctx, { params, body }) => updateGateway(ctx, params.gateway_id, body),
  ),
  endpoint(
    "DELETE",
    "/api/v1/gateways/{gateway_id}",
    {
      as: admin,
      summary: "Delete a gateway",
      errors: [409],
      description: "409 while boards or their agents use it.",
      returns: Ok,
    },
    async (ctx, { params }) => {
      await removeGateway(ctx, params.gateway_id);
      return ok;
    },
  ),
];
