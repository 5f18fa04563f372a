import { template } from "../substitute.ts";

export const IDENTITY = [
  template(`# IDENTITY.md

- Name: {{ agent_name }}
- Agent ID: {{ agent_id }}
- Role: {{ identity_role }}
- Style: {{ identity_communication_style }}
- Emoji: {{ identity_emoji }}
- Purpose: {{ identity_purpose }}
- Personality: {{ identity_personality }}
- Autonomy: {{ identity_autonomy_level }}
- In practice: {{ autonomy_meaning }}
- Verbosity: {{ identity_verbosity }}
- Output format: {{ identity_output_format }}
- Update cadence: {{ identity_update_cadence }}
{{ other_profile_lines }}

{{ custom_instructions }}

People set this in your profile; a change of the profile replaces this file.`),
];
