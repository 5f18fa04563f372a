import type { Host } from "./host.ts";

const DEFAULT_TEXT = "Default text of the host.";

/** Creates a workspace with the default files, except MEMORY.md, which agents write. Existing files are kept. */
export function seedWorkspace(
  host: Host,
  workspace: string,
  name: string | null,
): Map<string, { content: string; updatedAtMs: number }> {
  const files = host.files.get(workspace) ?? new Map<string, { content: string; updatedAtMs: number }>();
  host.files.set(workspace, files);
  for (const file of host.dialect.accepted_files) {
    if (file.toLowerCase() === "memory.md" || files.has(file)) continue;
    files.set(file, { content: `# ${file}\n\n${DEFAULT_TEXT}\n`, updatedAtMs: Date.now() });
  }
  const identity = files.get("IDENTITY.md");
  if (name !== null && identity !== undefined) identity.content += `\n- Name: ${name}\n`;
  return files;
}

/**
 * Deletes BOOTSTRAP.md once SOUL.md or USER.md is customized, as recent releases do, because the agent then needs no first
 * conversation.
 */
export function deleteFinishedBootstrap(host: Host, workspace: string): void {
  const files = host.files.get(workspace);
  if (!host.dialect.deletes_bootstrap || files === undefined || host.bootstrapped_workspaces.has(workspace)) return;
  const isPersonalized = ["SOUL.md", "USER.md"].some((name) => files.get(name)?.content.includes(DEFAULT_TEXT) === false);
  if (!isPersonalized) return;
  host.bootstrapped_workspaces.add(workspace);
  files.delete("BOOTSTRAP.md");
}
