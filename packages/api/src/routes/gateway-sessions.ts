import { admin } from "@board/core/context/actor";
import { GatewayCommands, getGatewayCommands } from "@board/openclaw/gateway/commands";
import { TargetQuery } from "@board/openclaw/gateway/resolve-target";
import {
  GatewaySessionHistory,
  GatewaySessions,
  getSession,
  getSessionHistory,
  HistoryQuery,
  listSessions,
  GatewaySessionRead,
  SendSessionMessage,
  sendSessionMessage,
} from "@board/openclaw/gateway/sessions";
import { GatewayStatus, getGatewayStatus } from "@board/openclaw/gateway/status";
import { lazyObject, Ok, ok, valueError } from "@board/core/values/wire";
import * as z from "zod";
import { type Endpoint, endpoint, withPrefixes } from "../endpoint.ts";

const prefixes = ["/api/v1/gateway", "/api/v1/gateways"] as const;
const sessionPaths = withPrefixes(prefixes, "/sessions/{session_id}");

const MAX_SESSION_KEY_CHARS = 1_000;

/** Declares the path parameter for a session key, because hosts choose the keys freely and do not use UUIDs. */
const withSessionKeyParam = (operation: Endpoint): Endpoint => ({
  ...operation,
  params: lazyObject(() => ({
    session_id: z
      .string()
      .max(MAX_SESSION_KEY_CHARS)
      .refine((key) => !key.includes("\0") && key.isWellFormed(), valueError("text must not hold NUL or unpaired surrogates"))
      .describe("Key of the session, URL-encoded."),
  })),
});

/** The live state of an OpenClaw host, read from the host itself. */
export const gatewaySessions: Endpoint[] = [
  endpoint(
    "GET",
    withPrefixes(prefixes, "/status"),
    {
      as: admin,
      summary: "Get the status of a gateway",
      calls_out: true,
      errors: [404],
      description:
        "Asks the host, for up to 10 s. If the host does not respond, is not allowed or is too old, `connected` is false and `error` gives the reason.",
      query: TargetQuery,
      returns: GatewayStatus,
    },
    (ctx, { query }) => getGatewayStatus(ctx, query),
  ),
  endpoint(
    "GET",
    withPrefixes(prefixes, "/sessions"),
    {
      as: admin,
      summary: "List a gateway's sessions",
      calls_out: true,
      errors: [404, 502],
      description:
        "If a board is given, creates the main session of the gateway if it does not exist. Returns 502 if the host fails.",
      query: TargetQuery,
      returns: GatewaySessions,
    },
    (ctx, { query }) => listSessions(ctx, query),
  ),
  withSessionKeyParam(
    endpoint(
      "GET",
      sessionPaths,
      {
        as: admin,
        summary: "Get a session of a gateway",
        calls_out: true,
        errors: [502],
        description: "Creates the main session if it does not exist. Returns 502 if the host fails.",
        query: TargetQuery,
        returns: GatewaySessionRead,
      },
      (ctx, { params, query }) => getSession(ctx, params.session_id, query),
    ),
  ),
  withSessionKeyParam(
    endpoint(
      "GET",
      withPrefixes(sessionPaths, "/history"),
      {
        as: admin,
        summary: "Get the history of a session",
        calls_out: true,
        errors: [502],
        description:
          "Returns the latest messages that the host has stored, and none for an unknown key. Returns 502 if the host fails.",
        query: HistoryQuery,
        returns: GatewaySessionHistory,
      },
      (ctx, { params, query }) => getSessionHistory(ctx, params.session_id, query),
    ),
  ),
  withSessionKeyParam(
    endpoint(
      "POST",
      withPrefixes(sessionPaths, "/message"),
      {
        as: admin,
        summary: "Send a message to a session",
        calls_out: true,
        errors: [502],
        description:
          "Replies appear only in the session. Giving a board requires write access to it. Returns 502 if the host fails.",
        query: TargetQuery,
        body: SendSessionMessage,
        returns: Ok,
      },
      async (ctx, { params, query, body }) => {
        await sendSessionMessage(ctx, params.session_id, query, body);
        return ok;
      },
    ),
  ),
  endpoint(
    "GET",
    withPrefixes(prefixes, "/commands"),
    {
      as: admin,
      summary: "List the methods of a gateway",
      calls_out: true,
      errors: [404],
      description:
        "Returns the methods of the host if it responds within 5 s, else the methods that this service uses of any host.",
      query: TargetQuery,
      returns: GatewayCommands,
    },
    (ctx, { query }) => getGatewayCommands(ctx, query),
  ),
];
