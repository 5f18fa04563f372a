import { api } from "../api.ts";
import type { Run, Step } from "../types.ts";

const RUNS = 50;
const STEPS = 200;

export const readRuns = (board_id: string, task_id: string, signal: AbortSignal) =>
  api.get("/api/v1/boards/{board_id}/tasks/{task_id}/runs", {
    params: { path: { board_id, task_id }, query: { limit: RUNS } },
    signal,
  });

export const readRun = (board_id: string, run_id: string, signal: AbortSignal) =>
  api.get("/api/v1/boards/{board_id}/runs/{run_id}", { params: { path: { board_id, run_id } }, signal });

export const stopRun = ({ board_id, id: run_id }: Run, reason: string | null) =>
  api.post("/api/v1/boards/{board_id}/runs/{run_id}/stop", { params: { path: { board_id, run_id } }, body: { reason } });

const PATH = "/api/v1/boards/{board_id}/runs/{run_id}/steps";

/** Reads a page of steps from the beginning, from the end, or from a cursor, which is the number of a step. */
export const readSteps = (
  { board_id, id: run_id }: Run,
  query: { kind?: Step["kind"]; order: "asc" | "desc"; cursor: string },
  signal: AbortSignal,
) => api.get(PATH, { params: { path: { board_id, run_id }, query: { limit: STEPS, ...query } }, signal });

/** Follows the steps that are stored from now on. */
export const followSteps = ({ board_id, id: run_id }: Run, signal: AbortSignal) =>
  api.stream(`${PATH}/stream`, { params: { path: { board_id, run_id } }, signal });
