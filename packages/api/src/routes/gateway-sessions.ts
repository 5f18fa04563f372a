import { admin } from "@board/core/actor";
import { GatewayCommands, getGatewayCommands } from "@board/core/gateway/commands";
import { TargetQuery } from "@board/core/gateway/resolve-target";
import {
  GatewaySessionHistory,
  GatewaySessions,
  getSession,
  getSessionHistory,
  HistoryQuery,
  listSessions,
  OneGatewaySession,
  SendSessionMessage,
  sendSessionMessage,
} from "@board/core/gateway/sessions";
import { GatewayStatus, getGatewayStatus } from "@board/core/gateway/status";
import { Ok, ok, rule } from "@board/core/wire";
import * as z from "zod";
import { type Endpoint, endpoint, under } from "../endpoint.ts";

const both = ["/api/v1/gateway", "/api/v1/gateways"] as const;
const one = under(both, "/sessions/{session_id}");

const MAX_SESSION_KEY = 1_000;

/** Hosts name their sessions with keys, not with ids: any text that a host may use. */
const bySessionKey = (operation: Endpoint): Endpoint => ({
  ...operation,
  params: z.object({
    session_id: z
      .string()
      .max(MAX_SESSION_KEY)
      .refine((key) => !key.includes("\0") && key.isWellFormed(), rule("text must not hold NUL or unpaired surrogates"))
      .describe("The session's key, URL-encoded."),
  }),
});

/** What goes on at an OpenClaw host, asked of the host itself. */
export const gatewaySessions: Endpoint[] = [
  endpoint(
    "GET",
    under(both, "/status"),
    {
      as: admin,
      summary: "Look at a gateway",
      errors: [404],
      description:
        "Asks the host, at most 10 s. A host that does not answer, may not be dialled or is too old is no error: `connected` is false and `error` says why.",
      query: TargetQuery,
      returns: GatewayStatus,
    },
    (ctx, { query }) => getGatewayStatus(ctx, query),
  ),
  endpoint(
    "GET",
    under(both, "/sessions"),
    {
      as: admin,
      summary: "List a gateway's sessions",
      errors: [404, 502],
      description: "With a board named, the gateway's main session is made when it is missing. 502 when the host fails.",
      query: TargetQuery,
      returns: GatewaySessions,
    },
    (ctx, { query }) => listSessions(ctx, query),
  ),
  bySessionKey(
    endpoint(
      "GET",
      one,
      {
        as: admin,
        summary: "Get a session of a gateway",
        errors: [502],
        description: "The main session is made when it is missing. 502 when the host fails.",
        query: TargetQuery,
        returns: OneGatewaySession,
      },
      (ctx, { params, query }) => getSession(ctx, params.session_id, query),
    ),
  ),
  bySessionKey(
    endpoint(
      "GET",
      under(one, "/history"),
      {
        as: admin,
        summary: "Read what was said in a session",
        errors: [502],
        description: "The latest messages as the host keeps them; none for a key it does not know. 502 when the host fails.",
        query: HistoryQuery,
        returns: GatewaySessionHistory,
      },
      (ctx, { params, query }) => getSessionHistory(ctx, params.session_id, query),
    ),
  ),
  bySessionKey(
    endpoint(
      "POST",
      under(one, "/message"),
      {
        as: admin,
        summary: "Say something into a session",
        errors: [502],
        description: "Answers stay in the session. Naming a board takes the right to write to it. 502 when the host fails.",
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
    under(both, "/commands"),
    {
      as: admin,
      summary: "List what a gateway understands",
      errors: [404],
      description: "From the host when it answers within 5 s, else what this service uses of any host.",
      query: TargetQuery,
      returns: GatewayCommands,
    },
    (ctx, { query }) => getGatewayCommands(ctx, query),
  ),
];
