import type { BenchEnvironment } from "../environment.ts";
import { load } from "../load.ts";
import type { Callers } from "./home.ts";
import type { Measured } from "./measure.ts";

const REQUESTS = 100;
const BODY = JSON.stringify({
  ref: "refs/heads/main",
  commits: Array.from({ length: 10 }, (_, id) => ({ id, message: "x".repeat(150) })),
});

interface Request {
  method?: string;
  path: (n: number) => string;
  body?: (n: number) => string;
  headers?: Record<string, string>;
  status?: number;
  /** The organization of the person; by default the organization that does not grow. */
  organization_id?: string;
}

/** Lists the requests of the table, which are sent one after the other. */
export function listRequests(place: BenchEnvironment, callers: Callers): Record<string, Measured> {
  const { authorization, board, lead, webhook, api } = place;
  const { task_ids, large_agent_token, large_organization_id } = callers;
  const person = { authorization };
  const agent = { "x-agent-token": lead.auth_token };
  const tasks = `/api/v1/boards/${board.id}/tasks`;
  const task = (n: number) => `${tasks}/${task_ids[n % task_ids.length]}`;
  const at = (path: string) => () => path;
  const requests: Record<string, Request> = {
    "agent sign-in and read": { path: at("/api/v1/agent/healthz"), headers: agent },
    "list boards": { path: at("/api/v1/boards?limit=20"), headers: person },
    "tasks page": { path: at(`${tasks}?limit=50`), headers: person },
    "one task": { path: task, headers: person },
    "patch a task": {
      method: "PATCH",
      path: task,
      body: (n) => JSON.stringify({ priority: `p${n} ${Math.random()}` }),
      headers: person,
    },
    "create a task": { method: "POST", path: at(tasks), body: (n) => JSON.stringify({ title: `New ${n}` }), headers: person },
    "post a comment": { method: "POST", path: (n) => `${task(n)}/comments`, body: () => '{"message":"Done."}', headers: person },
    "comments of a task": { path: (n) => `${task(n)}/comments`, headers: person },
    "webhook post, with its delivery": { method: "POST", path: at(webhook.endpoint_path), body: () => BODY, status: 202 },
    "activity page": { path: at("/api/v1/activity?limit=50"), headers: person },
    "activity page of an agent": { path: at("/api/v1/activity?limit=50"), headers: agent },
    "comment feed": { path: at("/api/v1/activity/task-comments?limit=50"), headers: person },
    dashboard: { path: at("/api/v1/metrics/dashboard?range=24h"), headers: person },
    "large organization: activity page": {
      path: at("/api/v1/activity?limit=50"),
      headers: person,
      organization_id: large_organization_id,
    },
    "large organization: activity page of an agent": {
      path: at("/api/v1/activity?limit=50"),
      headers: { "x-agent-token": large_agent_token },
    },
    "large organization: comment feed": {
      path: at("/api/v1/activity/task-comments?limit=50"),
      headers: person,
      organization_id: large_organization_id,
    },
    "large organization: dashboard": {
      path: at("/api/v1/metrics/dashboard?range=24h"),
      headers: person,
      organization_id: large_organization_id,
    },
  };
  const toMeasured = ({
    method = "GET",
    path,
    body,
    headers = {},
    status,
    organization_id = callers.organization_id,
  }: Request): Measured => ({
    count: REQUESTS,
    pid: place.service.pid,
    role: "postgres",
    prepare: () => api("PATCH", "/api/v1/organizations/me/active", { organization_id }),
    run: async (requests) => {
      const nth = (n: number) => ({ path: path(n), ...(body ? { body: body(n) } : {}) });
      const { failed } = await load({
        url: place.service.url,
        method,
        headers,
        connections: 1,
        requests,
        nth,
        ...(status ? { status } : {}),
      });
      if (failed > 0) throw new Error(`${failed} of ${requests} requests to ${method} ${path(0)} failed`);
    },
    settle: place.waitForJobs,
  });
  return Object.fromEntries(Object.entries(requests).map(([name, request]) => [name, toMeasured(request)]));
}
