import type { Job } from "@board/client";
import { Option } from "commander";
import { type AddCommands, startRun } from "../cli.ts";
import { collect } from "../collect.ts";
import { UsageError } from "../failure.ts";
import { UUID } from "../session.ts";
import { toCount } from "./tasks.ts";
import { PROGRAM } from "../program.ts";

/**
 * Describes the status of a job. If the job waits for a slot, `held_by` says whether the organization, gateway or subscription
 * limits it.
 */
const toStatus = ({ status, waits_for, held_by }: Job): string =>
  waits_for ? `${status}, waits for ${waits_for === "slot" ? `slot of ${held_by}` : waits_for}` : status;

export const addJobs: AddCommands = (program, host) => {
  const jobs = program
    .command("jobs")
    .description("List background jobs, such as notifications to agents (admins)")
    .addOption(new Option("-s, --status <status>", "only these").choices(["queued", "running", "done", "dead"]))
    .option("-n, --limit <number>", "how many", toCount, 50)
    .action(async ({ status, limit }: { status?: Job["status"]; limit: number }, command) => {
      const { output, openSession } = startRun(command, host);
      const { client } = await openSession();
      const query = { limit: Math.min(limit, 200), ...(status !== undefined && { status }) };
      const found = await collect<Job>(client.list("/api/v1/jobs", { params: { query } }), limit);
      output.result(found, () =>
        output.table(
          found,
          [
            { title: "id", value: ({ id }) => id },
            { title: "kind", value: ({ kind }) => kind },
            { title: "status", value: toStatus },
            { title: "attempts", value: ({ attempts, max_attempts }) => `${attempts}/${max_attempts}` },
            { title: "next attempt", value: ({ next_attempt_at }) => next_attempt_at },
            { title: "created", value: ({ created_at }) => created_at },
            { title: "last error", value: ({ last_error }) => last_error, max: 60 },
          ],
          "No jobs.",
        ),
      );
    });

  jobs
    .command("redrive [job...]")
    .description("Retry these dead jobs, or all of them with --all")
    .option("--all", "all dead jobs")
    .action(async (ids: string[], { all }: { all?: boolean }, command) => {
      const { output, openSession } = startRun(command, host);
      if (ids.length > 0 === (all === true)) throw new UsageError("Name the jobs to retry, or use --all.");
      const unfit = ids.find((id) => !UUID.test(id));
      if (unfit !== undefined)
        throw new UsageError(`${unfit} is not the id of a job. "${PROGRAM} jobs --status dead" shows the ids.`);
      const { client } = await openSession();
      let redriven = 0;
      for (const job_id of ids) {
        await client.post("/api/v1/jobs/{job_id}/redrive", { params: { path: { job_id } } });
        redriven++;
      }
      for (let has_more = all === true; has_more; ) {
        const answer = await client.post("/api/v1/jobs/redrive", { body: {} });
        redriven += answer.redriven;
        has_more = answer.has_more && answer.redriven > 0;
      }
      output.result({ redriven }, () => output.line(`Redriven: ${redriven}.`));
    });
};
