import { structured } from "../text.ts";
import { oneLine } from "../wire.ts";

export type SkillOrder = "install" | "uninstall";

const HEADERS = {
  install: "MISSION CONTROL SKILL INSTALL REQUEST",
  uninstall: "MISSION CONTROL SKILL UNINSTALL REQUEST",
} as const;

const ACTIONS = {
  install: [
    "Make the destination folder if it is not there.",
    "Fetch the skill from the source url into a folder of its own there, or bring the one that is there up to date.",
    "Check that the skill can be discovered from there.",
    "Report in this session what was installed, or what went wrong.",
  ],
  uninstall: [
    "Remove the skill of this name and source url from the destination folder, and nothing else.",
    "Check that it can be discovered no more.",
    "Report in this session what was removed, or what went wrong.",
  ],
} as const;

/** What a main agent is told to do with a skill (contract skills-souls.md §3). What others wrote stands in the fence alone. */
export function skillOrderText(
  order: SkillOrder,
  skill: { name: string; source_url: string },
  { workspace_root }: { workspace_root: string },
): string {
  const destination = `${workspace_root.trim().replace(/\/+$/, "")}/skills`;
  const data = { "Skill name": skill.name, "Source URL": skill.source_url, Destination: destination };
  return [
    HEADERS[order],
    "",
    "Actions:",
    ...ACTIONS[order].map((action, index) => `${index + 1}. ${action}`),
    "",
    structured(
      Object.entries(data)
        .map(([title, value]) => `${title}: ${plain(value)}`)
        .join("\n"),
    ),
  ].join("\n");
}

const plain = (text: string): string => oneLine(text).replace(/\s+/g, " ");
