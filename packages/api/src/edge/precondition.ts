import type { Context } from "@board/core/context/context";
import { DomainError } from "@board/core/values/errors";
import { lockRow } from "@board/core/db/lock-row";
import * as z from "zod";
import { serialize } from "./answer.ts";
import type { Endpoint } from "../endpoint.ts";
import { isListedTag, toEntityTag } from "./etag.ts";
import { lazyObject } from "@board/core/values/wire";

const NAME = "If-Match";

/** The header as the OpenAPI document shows it. */
export const IfMatchHeader = lazyObject(() => ({
  [NAME]: z.string().optional().describe("ETag of the resource as the caller knows it; 412 when it has changed since."),
}));

/**
 * Returns the context of a conditional write. Each transaction in it first locks the resource and compares it with what a read
 * would return now, so that nobody can change the resource between the comparison and the write.
 */
export function withPrecondition(ctx: Context, { spec }: Endpoint, headers: Headers, params: object): Context {
  const header = headers.get(NAME);
  const { conditional } = spec;
  if (header === null || !conditional) return ctx;
  const { table, id, representations } = conditional;
  const readTags = async (ctx: Context) => {
    const tags: string[] = [];
    for (const { schema, read } of representations) {
      const { text } = serialize(schema, await read(ctx, params as never), ctx.settings.budgets.answer_max_bytes);
      tags.push(toEntityTag(text));
    }
    return tags;
  };
  const precondition = async (ctx: Context) => {
    // The first read does not lock, so that a caller without access to the resource cannot lock it.
    await readTags(ctx);
    await lockRow(ctx, table, params[id as never]);
    const tags = await readTags(ctx);
    if (!isListedTag(header, tags))
      throw new DomainError("precondition_failed", "The resource has changed.", { entity_tag: tags[0]! });
  };
  return { ...ctx, precondition };
}
