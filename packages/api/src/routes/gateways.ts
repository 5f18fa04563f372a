import { admin } from "@board/core/context/actor";
import {
  CreateGateway,
  createGateway,
  Gateway,
  getGateway,
  listGateways,
  removeGateway,
  UpdateGateway,
  updateGateway,
} from "@board/openclaw/gateway/gateway";
import { ConnectivityChange, listConnectivity } from "@board/openclaw/provisioning/host-history";
import { longPageQuery, pageOf, pageQuery } from "@board/core/lists/page";
import { Ok, ok } from "@board/core/values/wire";
import { gatewayResource } from "./conditional-resources.ts";
import { endpoint } from "../endpoint.ts";

/** Gateways: the registered OpenClaw hosts that run the agents. */
export const gateways = [
  endpoint(
    "GET",
    "/api/v1/gateways",
    { as: admin, summary: "List gateways", query: longPageQuery(), returns: pageOf(Gateway) },
    (ctx, { query }) => listGateways(ctx, query),
  ),
  endpoint(
    "POST",
    "/api/v1/gateways",
    {
      as: admin,
      summary: "Register a gateway",
      calls_out: true,
      description:
        "Tries to connect to the host for up to 10 s. An unreachable host is registered as well, with the reason in `last_error`.",
      body: CreateGateway,
      returns: Gateway,
    },
    (ctx, { body }) => createGateway(ctx, body),
  ),
  endpoint("GET", "/api/v1/gateways/{gateway_id}", { as: admin, summary: "Get a gateway", returns: Gateway }, (ctx, { params }) =>
    getGateway(ctx, params.gateway_id),
  ),
  endpoint(
    "GET",
    "/api/v1/gateways/{gateway_id}/connectivity/changes",
    {
      as: admin,
      summary: "List changes of a gateway's connectivity",
      description: "When its host was connected, disconnected, or reported another version, newest first. The last 50 are kept.",
      authorize: (ctx, params) => getGateway(ctx, params.gateway_id),
      query: pageQuery(20),
      returns: pageOf(ConnectivityChange),
    },
    (ctx, { params, query }) => listConnectivity(ctx, params.gateway_id, query),
  ),
  endpoint(
    "PATCH",
    "/api/v1/gateways/{gateway_id}",
    {
      as: admin,
      summary: "Update a gateway",
      calls_out: true,
      conditional: gatewayResource,
      description:
        "Tries to connect first if the address, the token or a flag changes. Sending the masked token keeps the stored one.",
      authorize: (ctx, params) => getGateway(ctx, params.gateway_id),
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
      conditional: gatewayResource,
      errors: [409],
      description: "Returns 409 while boards or agents use the gateway.",
      returns: Ok,
    },
    async (ctx, { params }) => {
      await removeGateway(ctx, params.gateway_id);
      return ok;
    },
  ),
];
