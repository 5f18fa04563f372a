/** Judges requests by the policies of the graph, as AWS does within one account: an explicit denial wins, and silence denies. */
import type { Graph } from "./graph.ts";

/** The statements of the AWS provider, which renders policies from them. */
interface PolicyStatement {
  effect?: "Allow" | "Deny";
  actions: string[];
  resources: string[];
  principals?: { type: string; identifiers: string[] }[];
  conditions?: { test: string; variable: string; values: string[] }[];
}

export interface AwsRequest {
  role: string;
  action: string;
  resource: string;
  /** Whether the request uses TLS; true by default. */
  secure?: boolean;
}

export type Verdict = "allowed" | "denied by a statement" | "allowed by no statement";

const matches = (pattern: string, text: string): boolean =>
  new RegExp(
    `^${pattern
      .split("*")
      .map((part) => RegExp.escape(part))
      .join(".*")}$`,
    "i",
  ).test(text);
export const matchesOne = (patterns: readonly string[], text: string) => patterns.some((pattern) => matches(pattern, text));

function meets({ conditions = [] }: PolicyStatement, secure: boolean): boolean {
  return conditions.every(({ test, variable, values }) => {
    if (test !== "Bool" || variable !== "aws:SecureTransport") throw new Error(`Unknown condition ${test} of ${variable}`);
    return values.includes(String(secure));
  });
}

export function createJudge(graph: Graph): (request: AwsRequest) => Verdict {
  const parse = (policy: string) => (JSON.parse(policy) as { Statement: PolicyStatement[] }).Statement;
  const ofRoles = new Map(
    graph
      .all("aws:iam/role:Role")
      .map(({ inputs }) => [
        inputs.name as string,
        ((inputs.inlinePolicies ?? []) as { policy: string }[]).flatMap(({ policy }) => parse(policy)),
      ]),
  );
  // Every bucket policy in this graph applies to all principals, so the principal of a request does not matter.
  const ofResources = graph.all("aws:s3/bucketPolicy:BucketPolicy").flatMap(({ inputs }) => parse(inputs.policy));
  return ({ role, action, resource, secure = true }) => {
    const own = ofRoles.get(role);
    if (!own) throw new Error(`There is no role ${role}`);
    const found = [...own, ...ofResources].filter(
      (statement) =>
        matchesOne(statement.actions, action) && matchesOne(statement.resources, resource) && meets(statement, secure),
    );
    if (found.some(({ effect }) => effect === "Deny")) return "denied by a statement";
    return found.length > 0 ? "allowed" : "allowed by no statement";
  };
}
