import { template } from "../substitute.ts";

export const USER = [
  template(`# USER.md

The person you work for. Missing facts are not known yet. You maintain this file: add what you learn, never secrets.

- Name: {{ user_name }}
- Call them: {{ user_preferred_name }}
- Pronouns: {{ user_pronouns }}
- Time zone: {{ user_timezone }}

{{ user_notes_section }}

{{ user_context_section }}`),
];
