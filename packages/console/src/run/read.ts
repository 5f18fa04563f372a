import { api } from "../api.ts";
import type { Run } from "../types.ts";

const RUNS = 50;

export const readRuns = (board_id: string, task_id: string, signal: AbortSignal) =>
  api.get("/api/v1/boards/{board_id}/tasks/{task_id}/runs", {
    params: { path: { board_id, task_id }, query: { limit: RUNS } },
    signal,
  });

export const readRun = (board_id: string, run_id: string, signal: AbortSignal) =>
  api.get("/api/v1/boards/{board_id}/runs/{run_id}", { params: { path: { board_id, run_id } }, signal });

export const stopRun = ({ board_id, id: run_id }: Run, reason: string | null) =>
  api.post("/api/v1/boards/{board_id}/runs/{run_id}/stop", { params: { path: { board_id, run_id } }, body: { reason } });
