import { Artifact, getArtifact, listArtifacts, removeArtifact, requireRemovable } from "@board/core/artifact/artifact";
import { openContent } from "@board/core/artifact/content";
import { CreateArtifact, createArtifact, NewArtifact } from "@board/core/artifact/create";
import {
  ArtifactUsage,
  getArtifactUsage,
  listOrganizationArtifacts,
  OrganizationArtifact,
} from "@board/core/artifact/organization-files";
import { getReviewedFiles, ReviewedFiles, SetReviewedFiles, setReviewedFiles } from "@board/core/artifact/reviewed-files";
import { completeArtifact, requireUploading, uploadContent } from "@board/core/artifact/upload";
import { member, user, userOrAgent } from "@board/core/context/actor";
import { longPageQuery, pageOf } from "@board/core/lists/page";
import { getTask } from "@board/core/task/list";
import { Ok, ok } from "@board/core/values/wire";
import * as z from "zod";
import { answerFile, dispositionOf } from "../edge/file-answer.ts";
import { endpoint } from "../endpoint.ts";

const ofTask = "/api/v1/boards/{board_id}/tasks/{task_id}/artifacts";
const item = "/api/v1/boards/{board_id}/artifacts/{artifact_id}";

const all = "/api/v1/artifacts";

/** Files of tasks, and the reviews of these files by people. */
export const artifacts = [
  endpoint(
    "GET",
    ofTask,
    {
      as: userOrAgent,
      summary: "List artifacts of a task",
      description: "Oldest first, including artifacts whose upload is not complete.",
      authorize: (ctx, params) => getTask(ctx, params.board_id, params.task_id),
      query: longPageQuery(),
      returns: pageOf(Artifact),
    },
    (ctx, { params, query }) => listArtifacts(ctx, params.board_id, params.task_id, query),
  ),
  endpoint(
    "POST",
    ofTask,
    {
      as: userOrAgent,
      summary: "Add an artifact to a task",
      description:
        "Content of at most 262,144 bytes may be sent in the body. Without it, the answer has an address in `upload`: PUT the content there, then complete the artifact. An artifact that is not complete after a day is removed. Answers 413 for a file that is too large, and 409 with `used` and `limit` when the task or the organization has no room.",
      errors: [409],
      authorize: (ctx, params) => getTask(ctx, params.board_id, params.task_id, "write"),
      body: CreateArtifact,
      calls_out: true,
      returns: NewArtifact,
    },
    (ctx, { params, body }) => createArtifact(ctx, params.board_id, params.task_id, body),
  ),
  endpoint(
    "GET",
    all,
    {
      as: member,
      summary: "List artifacts of the organization",
      description:
        "Artifacts on the boards that the caller may read, largest first, including those whose upload is not complete.",
      query: longPageQuery(),
      returns: pageOf(OrganizationArtifact),
    },
    (ctx, { query }) => listOrganizationArtifacts(ctx, query),
  ),
  endpoint(
    "GET",
    `${all}/usage`,
    {
      as: member,
      summary: "Get the room that artifacts take",
      description:
        "The bytes that count toward the limit of the organization, including artifacts on boards that the caller may not read.",
      returns: ArtifactUsage,
    },
    (ctx) => getArtifactUsage(ctx),
  ),
  endpoint("GET", item, { as: userOrAgent, summary: "Get an artifact", returns: Artifact }, (ctx, { params }) =>
    getArtifact(ctx, params.board_id, params.artifact_id),
  ),
  endpoint(
    "GET",
    `${item}/content`,
    {
      as: userOrAgent,
      summary: "Get the content of an artifact",
      description:
        "Returns the bytes as a download, and supports `Range` and `If-None-Match`. If files are stored in a bucket, the answer redirects to an address that works for a few minutes without credentials.",
      errors: [409],
      calls_out: true,
      media_type: "application/octet-stream",
      returns: z.string(),
    },
    async (ctx, { params, http }) =>
      answerFile(await openContent(ctx, params.board_id, params.artifact_id, dispositionOf), http.headers),
  ),
  endpoint(
    "PUT",
    `${item}/content`,
    {
      as: userOrAgent,
      summary: "Upload the content of an artifact",
      description:
        "For an artifact whose `upload` names this address. Content with another size or SHA-256 than announced is refused.",
      errors: [409],
      authorize: (ctx, params) => requireUploading(ctx, params.board_id, params.artifact_id),
      calls_out: true,
      takes_file: true,
      returns: Artifact,
    },
    (ctx, { params, http }) =>
      uploadContent(ctx, params.board_id, params.artifact_id, http.chunks(ctx.settings.budgets.artifact_max_bytes)),
  ),
  endpoint(
    "POST",
    `${item}/complete`,
    {
      as: userOrAgent,
      summary: "Complete an artifact",
      description:
        "Checks the uploaded content and makes the artifact ready. Answers 409 when the content is missing or differs.",
      errors: [409],
      authorize: (ctx, params) => getArtifact(ctx, params.board_id, params.artifact_id, "write"),
      calls_out: true,
      returns: Artifact,
    },
    (ctx, { params }) => completeArtifact(ctx, params.board_id, params.artifact_id),
  ),
  endpoint(
    "DELETE",
    item,
    {
      as: userOrAgent,
      summary: "Remove an artifact",
      description: "Agents may only remove what they added themselves.",
      errors: [403],
      authorize: (ctx, params) => requireRemovable(ctx, params.board_id, params.artifact_id),
      returns: Ok,
    },
    async (ctx, { params }) => {
      await removeArtifact(ctx, params.board_id, params.artifact_id);
      return ok;
    },
  ),
  endpoint(
    "GET",
    `${item}/reviewed-files`,
    {
      as: user,
      summary: "Get reviewed files",
      description: "Returns which files of a diff the calling person has reviewed.",
      returns: ReviewedFiles,
    },
    (ctx, { params }) => getReviewedFiles(ctx, params.board_id, params.artifact_id),
  ),
  endpoint(
    "PUT",
    `${item}/reviewed-files`,
    {
      as: user,
      summary: "Set reviewed files",
      description: "Replaces the list of the calling person, who must be allowed to read the diff.",
      authorize: (ctx, params) => getArtifact(ctx, params.board_id, params.artifact_id),
      body: SetReviewedFiles,
      returns: ReviewedFiles,
    },
    (ctx, { params, body }) => setReviewedFiles(ctx, params.board_id, params.artifact_id, body),
  ),
];
