import * as z from "zod";
import { TextOrNull, MAX_NAME } from "@board/core/values/wire";

const MAX_TAGS = 50;

/** An id that the sender of a message chooses. The recipient's reply repeats it. */
export const correlationId = TextOrNull(MAX_NAME)
  .default(null)
  .describe("Id that the reply repeats, to match it with the question.");

export const replyTags = (default_tags: string[]) =>
  z
    .array(z.string().trim().min(1).max(MAX_NAME))
    .max(MAX_TAGS)
    .default(default_tags)
    .describe("Tags of the memory entry that holds the reply.");

export const replySource = (default_source: string) =>
  TextOrNull(MAX_NAME)
    .default(default_source)
    .transform((source) => source ?? default_source)
    .describe("Source of the memory entry that holds the reply.");
