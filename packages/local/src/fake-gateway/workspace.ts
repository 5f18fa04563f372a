import type { Host } from "./host.ts";

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
    files.set(file, { content: `# ${file}\n\nDefault text of the host.\n`, updatedAtMs: Date.now() });
  }
  const identity = files.get("IDENTITY.md");
  if (name !== null && identity !== undefined) identity.content += `\n- Name: ${name}\n`;
  return files;
}
