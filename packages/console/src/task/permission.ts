import type { Approval } from "../types.ts";

export interface PermissionOption {
  id: string;
  name: string;
  kind: string;
}

export interface Permission {
  tool: string;
  excerpt: string;
  options: PermissionOption[];
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");

/** Returns the permission that a runner requests for a coding agent, or null. The agent wrote it, so every field is checked. */
export function permissionOf({ action_type, payload }: Approval): Permission | null {
  if (action_type !== "run.permission") return null;
  const { tool, excerpt, options } = payload ?? {};
  const listed = Array.isArray(options) ? (options as Record<string, unknown>[]) : [];
  return {
    tool: text(tool),
    excerpt: text(excerpt),
    options: listed
      .map((option) => ({ id: text(option?.["id"]), name: text(option?.["name"]), kind: text(option?.["kind"]) }))
      .filter(({ id, kind }) => id !== "" && /^(allow|reject)_/.test(kind)),
  };
}
