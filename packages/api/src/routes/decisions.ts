import { anyone } from "@board/core/context/actor";
import { unsubscribe } from "@board/core/channel/channel";
import { DecisionResult, previewDecision, UseDecision, useDecision } from "@board/core/channel/decision";
import { InvalidInput, notFound } from "@board/core/values/errors";
import { lazyObject } from "@board/core/values/wire";
import * as z from "zod";
import { findUnstorable } from "../edge/body.ts";
import { endpoint, type HttpExchange } from "../endpoint.ts";
import { decidedPage, decisionPage, unsubscribedPage, unsubscribePage } from "./decision-pages.ts";

const MAX_FORM_BYTES = 20_000;
const Link = lazyObject(() => ({ token: z.string().max(1_000).default("").describe("The signed link of a message.") }));
const page = { as: anyone, media_type: "text/html", hidden: true, returns: z.string() } as const;

async function readForm(http: HttpExchange): Promise<URLSearchParams> {
  return new URLSearchParams(Buffer.from(await http.read(MAX_FORM_BYTES)).toString("utf8"));
}

/**
 * Decisions from messages. The signed token identifies the person, so there is no sign-in. Opening a link only shows a page and
 * decides nothing, because mail scanners open links too.
 */
export const decisions = [
  endpoint(
    "POST",
    "/api/v1/decisions",
    {
      as: anyone,
      summary: "Decide with a button in a message",
      description:
        "The token identifies one person, is valid for a day and can be used once. Only the first decision on an approval counts; the answer to a later one says who decided.",
      errors: [403, 404],
      body: UseDecision,
      returns: DecisionResult,
    },
    (ctx, { body }) => useDecision(ctx, body),
  ),
  endpoint("GET", "/decide", { ...page, summary: "Show a decision", query: Link }, async (ctx, { query }) =>
    decisionPage(query.token, await previewDecision(ctx, query.token)),
  ),
  endpoint("POST", "/decide", { ...page, summary: "Decide on the page of a message" }, async (ctx, { http }) => {
    const form = await readForm(http);
    const option = form.get("option");
    const text = form.get("text")?.trim() || null;
    const sent = {
      token: form.get("token"),
      status: form.get("status"),
      ...(option || text ? { answer: { option, text } } : {}),
    };
    const parsed = UseDecision.safeParse(sent);
    if (!parsed.success || findUnstorable(sent, []) !== null) throw notFound();
    try {
      return decidedPage(await useDecision(ctx, parsed.data));
    } catch (error) {
      if (!(error instanceof InvalidInput)) throw error;
      return decisionPage(parsed.data.token, await previewDecision(ctx, parsed.data.token));
    }
  }),
  endpoint("GET", "/unsubscribe", { ...page, summary: "Show how to stop messages", query: Link }, async (_ctx, { query }) =>
    unsubscribePage(query.token),
  ),
  // Mail programs post to the same address, with a fixed body (RFC 8058).
  endpoint("POST", "/unsubscribe", { ...page, summary: "Stop messages", query: Link }, async (ctx, { query }) => {
    await unsubscribe(ctx, query.token);
    return unsubscribedPage();
  }),
];
