import { admin } from "@board/core/context/actor";
import {
  Job,
  jobListQuery,
  JobPage,
  JobsRedriven,
  listOwnJobs,
  redriveJob,
  RedriveJobs,
  redriveOwnJobs,
  removeJob,
} from "@board/core/job/operate";
import { Ok, ok } from "@board/core/values/wire";
import { endpoint } from "../endpoint.ts";

/** The background jobs of the active organization. */
export const jobs = [
  endpoint(
    "GET",
    "/api/v1/jobs",
    {
      as: admin,
      summary: "List jobs",
      description: "Newest first. Done jobs are kept for 7 days, dead ones for 30.",
      query: jobListQuery,
      returns: JobPage,
    },
    (ctx, { query }) => listOwnJobs(ctx, query),
  ),
  endpoint(
    "POST",
    "/api/v1/jobs/redrive",
    {
      as: admin,
      operation_id: "redrive_jobs",
      summary: "Redrive dead jobs",
      description: "Queues all matching dead jobs again, oldest first. Each gets all its attempts again.",
      errors: [409],
      body: RedriveJobs,
      returns: JobsRedriven,
    },
    (ctx, { body }) => redriveOwnJobs(ctx, body),
  ),
  endpoint(
    "POST",
    "/api/v1/jobs/{job_id}/redrive",
    {
      as: admin,
      summary: "Redrive a dead job",
      description: "Queues the job again. It gets all its attempts again.",
      errors: [409],
      returns: Job,
    },
    (ctx, { params }) => redriveJob(ctx, params.job_id),
  ),
  endpoint(
    "DELETE",
    "/api/v1/jobs/{job_id}",
    {
      as: admin,
      summary: "Delete a dead job",
      description: "Its work is never done. A webhook payload keeps showing that its delivery failed.",
      errors: [409],
      returns: Ok,
    },
    async (ctx, { params }) => {
      await removeJob(ctx, params.job_id);
      return ok;
    },
  ),
];
