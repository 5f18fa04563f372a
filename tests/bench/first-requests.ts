/** One typical request for each function, which wakes it when cold starts are measured. */
import { jobs } from "@board/core/schema/all-tables";
import type { AwsDeployment } from "../aws/deployment.ts";
import { apiGatewayEvent, functionUrlEvent, type HttpOptions, scheduleEvent, sqsEvent } from "../support/aws-events.ts";
import type { Lambda } from "../support/lambda-sandbox.ts";
import { createWebhook } from "../support/webhook.ts";

/** A request that wakes a function. It throws unless it succeeds. */
export interface FirstRequest {
  /** What the request does, for the table. */
  what: string;
  /** The function of the manifest. */
  name: string;
  send(lambda: Lambda): Promise<void>;
}

const PAYLOAD = JSON.stringify({ action: "opened", text: "x".repeat(2_000) });

/** Seeds an organization and returns the requests. */
export async function createFirstRequests(cloud: AwsDeployment, gateway_url: string): Promise<FirstRequest[]> {
  const { world } = cloud;
  const home = await world.tenant("home", gateway_url);
  const webhook = await createWebhook(world, home);
  const person: HttpOptions = { headers: { authorization: `Bearer ${home.owner.token}` } };
  const agent: HttpOptions = { headers: { "x-agent-token": home.worker.token } };
  const json: HttpOptions = { headers: { "content-type": "application/json" } };
  const board = `/api/v1/boards/${home.board_id}`;

  const request = (name: string, method: string, path: string, options: HttpOptions = {}): FirstRequest => ({
    what: `${method} ${path.replaceAll(/[\da-f]{8}-[\da-f-]{27}/g, "{id}")}`,
    name,
    async send(lambda) {
      const answer = await lambda.invoke<{ statusCode: number; body: string }>(apiGatewayEvent(method, path, options));
      if (answer.statusCode >= 300) throw new Error(`${method} ${path}: ${answer.statusCode} ${answer.body}`);
    },
  });
  const read = (name: string, path: string, options = person) => request(name, "GET", path, options);
  const consume = (name: string): FirstRequest => ({
    what: "a job that is done",
    name,
    async send(lambda) {
      const [job] = await world.db.select().from(jobs).limit(1);
      const { batchItemFailures } = await lambda.invoke<{ batchItemFailures: unknown[] }>(sqsEvent([{ id: job!.id }]));
      if (batchItemFailures.length > 0) throw new Error(`${name}: the record failed`);
    },
  });
  await request("ingest", "POST", webhook.endpoint_path, { ...json, body: PAYLOAD }).send(await cloud.lambda("ingest"));
  await cloud.deliverAll();

  return [
    request("ingest", "POST", webhook.endpoint_path, { ...json, body: PAYLOAD }),
    read("agent", `/api/v1/agent/boards/${home.board_id}/tasks`, agent),
    read("tasks", `${board}/tasks`),
    read("tasks", `${board}/tasks`, agent),
    request("tasks", "POST", `${board}/tasks`, {
      headers: { ...person.headers, ...json.headers },
      body: JSON.stringify({ title: "Cold" }),
    }),
    read("fallback", "/readyz", {}),
    read("reference", "/openapi.json", {}),
    read("console", "/console/config.json", {}),
    read("users", "/api/v1/users/me"),
    read("organizations", "/api/v1/organizations/me"),
    read("custom-fields", "/api/v1/organizations/me/custom-fields"),
    read("tags", "/api/v1/tags"),
    read("gateways", "/api/v1/gateways"),
    read("boards", "/api/v1/boards"),
    read("board-groups", "/api/v1/board-groups"),
    read("memory", `${board}/memory`),
    read("approvals", `${board}/approvals`),
    read("webhooks", `${board}/webhooks`),
    read("subscriptions", "/api/v1/subscriptions"),
    read("jobs", "/api/v1/jobs"),
    read("agents", "/api/v1/agents"),
    read("activity", "/api/v1/activity"),
    read("changes", "/api/v1/changes"),
    read("metrics", "/api/v1/metrics/dashboard?range_key=24h"),
    read("skills", "/api/v1/skills/packs"),
    read("souls", "/api/v1/souls-directory/search?q=a"),
    {
      what: "HEAD /api/v1/agents/stream",
      name: "stream",
      async send(lambda) {
        const { head } = await lambda.stream(functionUrlEvent("HEAD", "/api/v1/agents/stream", person));
        if (head.statusCode !== 200) throw new Error(`stream: ${head.statusCode}`);
      },
    },
    ...["deliveries", "syncs", "probes", "outbound"].map(consume),
    {
      what: "the schedule of the relay",
      name: "schedule",
      send: (lambda) => lambda.invoke(scheduleEvent("relay")),
    },
  ];
}
