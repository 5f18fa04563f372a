import { template } from "../substitute.ts";

export const USER = [
  template(`# USER.md

Whom you work for. What is missing here is not known yet. The file is yours to keep: add what you learn, never secrets.

- Name: {{ user_name }}
- Call them: {{ user_preferred_name }}
- Pronouns: {{ user_pronouns }}
- Time zone: {{ user_timezone }}

{{ notes_on_the_user }}

{{ context_of_the_user }}`),
];
