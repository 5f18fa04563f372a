import type { Host } from "./host.ts";

const DEFAULT_TEXT = "Default text of the host.";

/** Makes sure a workspace exists with the host's default files; MEMORY.md is left to the agent. Existing files stay. */
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

/** What recent releases do to a workspace before they use it: whoever was given a soul or a user needs no first conversation. */
export function lookAfter(host: Host, workspace: string): void {
  const files = host.files.get(workspace);
  if (!host.dialect.clears_bootstrap || files === undefined || host.set_up.has(workspace)) return;
  const isGiven = ["SOUL.md", "USER.md"].some((name) => files.get(name)?.content.includes(DEFAULT_TEXT) === false);
  if (!isGiven) return;
  host.set_up.add(workspace);
  files.delete("BOOTSTRAP.md");
}
