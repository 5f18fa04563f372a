import { fenceStructured, trimEndOf } from "@board/core/values/text";
import { oneLine } from "@board/core/values/wire";

export type SkillAction = "install" | "uninstall";

const TITLES = {
  install: "MISSION CONTROL SKILL INSTALL REQUEST",
  uninstall: "MISSION CONTROL SKILL UNINSTALL REQUEST",
} as const;

const STEPS = {
  install: [
    "Create the destination folder if it does not exist.",
    "Fetch the skill from the source url into a separate subfolder of it, or update the copy that is already there.",
    "Check that the skill can be discovered there.",
    "Report in this session what was installed, or what went wrong.",
  ],
  uninstall: [
    "Remove the skill of this name and source url from the destination folder, and nothing else.",
    "Check that it can no longer be discovered.",
    "Report in this session what was removed, or what went wrong.",
  ],
} as const;

/** Creates the message to a main agent (docs/reference/skills.md#installing-a-skill). Untrusted text is only inside the fence. */
export function skillActionText(
  action: SkillAction,
  skill: { name: string; source_url: string },
  { workspace_root }: { workspace_root: string },
): string {
  const destination = `${trimEndOf(workspace_root.trim(), "/")}/skills`;
  // The agent needs the exact path. In back-ticks its slash does not begin a word, so `toChatText` does not change it.
  const data = { "Skill name": skill.name, "Source URL": skill.source_url, Destination: `\`${destination}\`` };
  return [
    TITLES[action],
    "",
    "Actions:",
    ...STEPS[action].map((step, index) => `${index + 1}. ${step}`),
    "",
    fenceStructured(
      Object.entries(data)
        .map(([title, value]) => `${title}: ${toPlainLine(value)}`)
        .join("\n"),
    ),
  ].join("\n");
}

const toPlainLine = (text: string): string => oneLine(text).replace(/\s+/g, " ");
