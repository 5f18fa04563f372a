import * as z from "zod";
import { Blankable, MAX_NAME } from "../../wire.ts";

const MAX_TAGS = 50;

/** What a text between agents says of the answer that it asks for. */
export const correlationId = Blankable(MAX_NAME)
  .default(null)
  .describe("Comes back with the answer, so that it finds its question.");

export const replyTags = (usual: string[]) =>
  z
    .array(z.string().trim().min(1).max(MAX_NAME))
    .max(MAX_TAGS)
    .default(usual)
    .describe("Tags of the memory entry that holds the answer.");

export const replySource = (usual: string) =>
  Blankable(MAX_NAME)
    .default(usual)
    .transform((source) => source ?? usual)
    .describe("Source of the memory entry that holds the answer.");
