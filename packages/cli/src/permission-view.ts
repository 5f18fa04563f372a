import type { Approval } from "@board/client";
import type { Output } from "./output.ts";
import { toSafeLine, toSafeText } from "./text.ts";

/** What a coding agent wants to do, for which its runner asks permission, with the options that a person can choose. */
export interface Permission {
  title: string;
  tool: string;
  excerpt: string;
  options: { id: string; name: string; kind: string }[];
}

/** Returns the permission that an approval asks for, or null for an approval of another kind. */
export function permissionOf({ action_type, payload }: Approval): Permission | null {
  if (action_type !== "run.permission") return null;
  const { title, tool, excerpt, options } = (payload ?? {}) as Record<string, unknown>;
  const listed = Array.isArray(options) ? (options as Record<string, unknown>[]) : [];
  return {
    title: String(title ?? ""),
    tool: String(tool ?? ""),
    excerpt: String(excerpt ?? ""),
    options: listed.map(({ id, name, kind }) => ({ id: String(id), name: String(name), kind: String(kind) })),
  };
}

/** Prints what an approval asks for. An agent wrote these texts. */
export function printPermission(output: Output, approval: Approval): void {
  const permission = permissionOf(approval);
  output.line(`${approval.status}: ${toSafeLine(approval.action_type)}`);
  for (const title of approval.task_titles) output.line(`task: ${toSafeLine(title)}`);
  if (!permission) {
    output.line(toSafeText(approval.description ?? ""));
    const options = approval.action_type === "question" ? approval.payload?.["options"] : undefined;
    for (const option of Array.isArray(options) ? options : []) output.line(`option: ${toSafeLine(String(option))}`);
    return;
  }
  output.line(`tool: ${toSafeLine(permission.tool)}`);
  output.line(`title: ${toSafeLine(permission.title)}`);
  for (const line of toSafeText(permission.excerpt).split("\n")) output.line(`  ${line}`);
  for (const { name, kind } of permission.options) output.line(`option: ${toSafeLine(name)} (${toSafeLine(kind)})`);
}
