import { template } from "../substitute.ts";
import { API, GET } from "./shell.ts";

export const BOOTSTRAP = [
  template(`# BOOTSTRAP.md

Your first start. Nobody needs to answer anything: do the steps in order, in your workspace. When a step fails, stop, leave
this file where it is, and say in one line which step failed and how; the next wake-up begins again.

1. Check that tools and files are there.

~~~sh
set -e
for tool in curl jq; do command -v "$tool"; done
for file in {{ own_files }}; do
  test -s "$file" || grep -qs "^<!-- file: $file -->" AGENTS.md SOUL.md || { echo "missing: $file"; exit 1; }
done
grep -qs '^AUTH_TOKEN=.' AGENTS.md TOOLS.md SOUL.md
~~~

2. Check that the service answers and knows you. This is your first check-in.

~~~sh
set -e
${GET}
${API}
api "$(get BASE_URL)/healthz"
api -d '{}' "$(get BASE_URL)/api/v1/agent/heartbeat" | jq -e '{id, name, status, board_id}'
~~~

3. Create the folder of your day notes, and today's note.

~~~sh
set -e
mkdir -p memory
note="memory/$(date +%F).md"
test -e "$note" || printf '# %s\\n\\n' "$(date +%F)" > "$note"
printf -- '- First start: tools, files and service checked.\\n' >> "$note"
~~~

4. Read SOUL.md, IDENTITY.md, USER.md, AGENTS.md and ROLES.md as far as they are there, then TOOLS.md, and the board
(intent agent_board_lookup). Begin MEMORY.md: fill in what you know by now, and leave the rest open.

~~~sh
set -e
grep -qs '^Begun on ' MEMORY.md || printf '\\nBegun on %s.\\n' "$(date +%F)" >> MEMORY.md
~~~

5. You are ready. Delete this file, then go on with HEARTBEAT.md.

~~~sh
rm -f BOOTSTRAP.md
~~~`),
];
