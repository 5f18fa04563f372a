import { readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Job, JobPage, JobsRedriven } from "@board/core/job/operate";
import { findSecrets } from "./secrets.ts";

const fileIn = (folder: string) => path.join(folder, "service.url");

/** Stores the address of the service for commands that use the same folder. */
export const announceService = (folder: string, url: string): void => writeFileSync(fileIn(folder), `${url}\n`, { mode: 0o600 });

/**
 * Removes the stored address. It is also called at the start, because a killed service leaves its address behind, and another
 * program that now listens there could receive the token.
 */
export const withdrawService = (folder: string): void => rmSync(fileIn(folder), { force: true });

/** The service that uses a folder. It is called with the token of the local user. */
export interface RunningService {
  listDeadJobs(limit: number): Promise<{ jobs: Job[]; has_more: boolean }>;
  /** Returns false if the job was not dead. */
  redriveJob(id: string): Promise<boolean>;
  redriveJobs(): Promise<number>;
}

/** Finds the service that uses a folder. Returns null while it starts or stops, and if it does not accept the local token. */
export function findRunningService(folder: string): RunningService | null {
  const { LOCAL_AUTH_TOKEN: token, AUTH_MODE: mode } = findSecrets(process.env).filled;
  const url = readUrl(folder);
  if (url === null || !token || mode?.trim() === "oidc") return null;
  const call = (method: string, route: string, body?: object) =>
    fetch(`${url}/api/v1/jobs${route}`, {
      method,
      headers: { authorization: `Bearer ${token.trim()}`, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
  return {
    async listDeadJobs(limit) {
      const page = await readAnswer<JobPage>(await call("GET", `?status=dead&limit=${limit}`));
      return { jobs: page.items, has_more: page.next_cursor !== null };
    },
    async redriveJob(id) {
      const answer = await call("POST", `/${id}/redrive`);
      if (answer.status === 404 || answer.status === 409) return false;
      await readAnswer(answer);
      return true;
    },
    async redriveJobs() {
      let total = 0;
      for (let has_more = true; has_more; ) {
        const answer = await readAnswer<JobsRedriven>(await call("POST", "/redrive", {}));
        total += answer.redriven;
        has_more = answer.has_more;
      }
      return total;
    },
  };
}

function readUrl(folder: string): string | null {
  try {
    return readFileSync(fileIn(folder), "utf8").trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return null;
  }
}

async function readAnswer<T>(answer: Response): Promise<T> {
  if (!answer.ok) throw new Error(`the service answered ${answer.status}`);
  return (await answer.json()) as T;
}
