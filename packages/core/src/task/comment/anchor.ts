import { and, eq } from "drizzle-orm";
import * as z from "zod";
import type { BoardRow } from "../../organization/access.ts";
import type { Context } from "../../context/context.ts";
import { ANCHOR_SIDES, type CommentAnchor } from "../../schema/activity.sql.ts";
import { artifacts } from "../../schema/artifact.sql.ts";
import { DomainError } from "../../values/errors.ts";
import { Id, Integer, lazyObject, MAX_INTEGER, NonEmpty, oneLine, valueError } from "../../values/wire.ts";

const MAX_PATH = 500;

export const AnchorShape = lazyObject(() => ({
  artifact_id: Id.describe("Artifact of the task, such as a diff."),
  path: z.string().nullable().describe("File in the diff; null for the whole artifact."),
  line: z.int().nullable().describe("Line of the file; null for the whole file."),
  side: z.enum(ANCHOR_SIDES).nullable().describe("Whether the line is one before (`old`) or after (`new`) the change."),
})).meta({ id: "CommentAnchor", description: "The place in an artifact that a comment is about." });

export const SentAnchor = lazyObject(() => ({
  artifact_id: Id.describe("Artifact of the task."),
  path: NonEmpty(MAX_PATH).nullable().default(null).describe("File in the diff; null for all."),
  line: Integer(1, MAX_INTEGER).nullable().default(null).describe("Line, from 1; null for the file."),
  side: z.enum(ANCHOR_SIDES).nullable().default(null).describe("Version of the line; by default `new`."),
}))
  .refine(({ path, line }) => path !== null || line === null, valueError("A line needs a path"))
  .refine(({ line, side }) => line !== null || side === null, valueError("A side needs a line"))
  .meta({ id: "CommentAnchorWrite" });

/** Checks that the artifact belongs to the task of the comment, and fills in the side. */
export async function toStoredAnchor(
  ctx: Context,
  board: BoardRow,
  task_id: string,
  sent: z.infer<typeof SentAnchor> | null,
): Promise<CommentAnchor | null> {
  if (sent === null) return null;
  const { artifact_id, path, line } = sent;
  const condition = and(eq(artifacts.id, artifact_id), eq(artifacts.task_id, task_id), eq(artifacts.board_id, board.id));
  const [found] = await ctx.db.select({ id: artifacts.id }).from(artifacts).where(condition);
  if (!found) throw new DomainError("invalid", "The anchor names no artifact of this task.");
  return { artifact_id, path, line, side: line === null ? null : (sent.side ?? "new") };
}

/** Returns the place of a comment in one line, for agents. */
export function anchorText({ artifact_id, path, line, side }: CommentAnchor): string {
  const file = path === null ? "" : `${oneLine(path)}, `;
  const place = line === null ? "" : `line ${line} ${side === "old" ? "before" : "after"} the change, `;
  return `${file}${place}artifact ${artifact_id}`;
}
