import { Artifact } from "@board/core/artifact/artifact";
import * as z from "zod";
import { fencedRows } from "./fenced.ts";

const { id, name, content_type, size } = Artifact.shape;

/** A file of a task, without its content, which can be read over HTTP. */
export const ArtifactRow = z.object({ id, name, content_type, size });
type ArtifactRow = z.infer<typeof ArtifactRow>;

export const toArtifactRow = ({ id, name, content_type, size }: ArtifactRow): ArtifactRow => ({ id, name, content_type, size });

export const artifactsText = (rows: readonly ArtifactRow[]): string[] =>
  rows.length === 0
    ? []
    : fencedRows(
        "Its files, read with GET /api/v1/boards/{board_id}/artifacts/{id}/content",
        rows.map(({ id, name, content_type, size }) => ({ fact: `${id} [${content_type}, ${size} bytes]`, name })),
      );
