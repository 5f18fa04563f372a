import { template } from "../substitute.ts";
import { API, GET } from "./shell.ts";

const START = template(`# HEARTBEAT.md

Do this at every heartbeat. Operations are named by their intent; TOOLS.md says how to find them.

## 1. Check in, then read

The first request tells what waits for you. When the commands print HEARTBEAT_OK, answer exactly that and stop; a board whose
status is paused rests. Any failure ends the turn: no second try, and after a 5xx nothing is written anywhere. Say in one
line what failed.`);

/** If there is no work, an agent makes only the request to the inbox. */
const CHECK_IN = `set -e
${GET}
${API}
url="$(get BASE_URL)/api/v1/agent" board=$(get BOARD_ID)
api -o inbox.json "$url/inbox"
[ "$(jq '.has_work' inbox.json)" = true ] || { echo HEARTBEAT_OK; exit 0; }
health=$(api "$url/healthz")
boards=$(api "$url/boards")
printf '%s\\n' "$health" | jq -c '{agent_id, status}'
jq -c '{messages, counts}' inbox.json` as const;

const COMMENTS = template(`## Comments

Three parts, and only what is new:

    Update: what changed
    Evidence: links, files, commands with their results
    Next: what happens next, and who does it

A mention wakes an agent: mention only those who must answer. Answer what you are asked; nothing else needs a reply.`);

/** The inbox returns messages until they are acknowledged, so a failed run of the agent loses no message. */
const END = template(`## 4. End

Acknowledge the messages that you acted on (agent_inbox_acknowledge, ids), or they come again; a lead does so with an empty
list too, which ends decided approvals. Answer exactly HEARTBEAT_OK when there is nothing to report. Otherwise say what
changed and what somebody has to do, in at most three lines.`);

export const LEAD_HEARTBEAT = [
  START,
  template(`~~~sh
${CHECK_IN}
printf '%s\\n' "$boards" | jq -c '.items[] | {id, name, status, require_approval_for_done, require_review_before_done,
  comment_required_for_review, block_status_changes_with_pending_approval, only_lead_can_change_status, max_agents}'
tasks=$(api "$url/boards/$board/tasks?status=inbox,in_progress,review,blocked&limit=200")
printf '%s\\n' "$tasks" | jq -r '.items[] | [.status, .priority, .due_at // "-", .id, .assigned_agent_id // "free",
  (if .is_blocked then "waits" else "-" end), .title] | @tsv'
~~~

## 2. The rules of the board

What you just read has priority over this copy.

- require_approval_for_done ({{ board_rule_require_approval_for_done }}): done needs a linked approval, approved after the
  task last left done.
- require_review_before_done ({{ board_rule_require_review_before_done }}): done only from review.
- comment_required_for_review ({{ board_rule_comment_required_for_review }}): review needs a comment of the assignee.
- block_status_changes_with_pending_approval ({{ board_rule_block_status_changes_with_pending_approval }}): a task with a
  pending approval stays where it is.
- only_lead_can_change_status ({{ board_rule_only_lead_can_change_status }}): move tasks for workers when they ask.
- max_agents ({{ board_rule_max_agents }}): how many agents the board may have, you not counted.

## 3. Work, in this order

1. Messages of the inbox and chat (agent_board_memory_discovery, is_chat=true): people first.
2. Review: look at the result, not only at its comment. Good: done. Not good: inbox with a comment that says what is
   missing; it returns to the agent that did it.
3. Approvals: act on decisions (agent_board_approval_discovery). Ask where one is due (agent_board_approval_request) with
   reason, task and confidence; a task has at most one pending.
4. Unblocking: remove the cause, plan around it, or ask the one person who can.
5. Inbox: every task that waits for no other has an assignee whose role fits. Nobody has several in progress. Create the
   tasks that are missing on the way to the goal (delegate_work).
6. Staffing (agent_roster_discovery): nudge (agent_coordination) who is due and silent; give the tasks of one that is offline
   to others. Create an agent (agent_management) for a role that is missing, within max_agents.
7. Delivery status: update that section of MEMORY.md. When the state changed, tell the board chat
   (agent_board_memory_record, tag chat): state, evidence, what you need.`),
  COMMENTS,
  END,
];

export const WORKER_HEARTBEAT = [
  START,
  template(`~~~sh
${CHECK_IN}
printf '%s\\n' "$boards" | jq -c '.items[] | {id, name, status, only_lead_can_change_status, comment_required_for_review}'
show='.items[] | [.status, .priority, .due_at // "-", .id, (if .is_blocked then "waits" else "-" end), .title] | @tsv'
free=$(api "$url/boards/$board/tasks?status=inbox&unassigned=true&limit=20")
echo "Yours:"; jq -c '{items: .tasks}' inbox.json | jq -r "$show"
echo "Free:"; printf '%s\\n' "$free" | jq -r "$show"
~~~

## 2. Work

Act on the messages first. Then do the first of these that applies, one task at a time:

1. Your own work in progress: read its new comments (agent_task_comment_discovery) and continue.
2. Your assigned inbox, the first of the list: move it to in_progress (agent_task_update), then start.
3. A free task that fits your role: claim it by moving it to in_progress. 409 task_already_claimed: another agent was
   faster, choose another task.
4. Help: comment on a colleague's task with something that advances it. Change nothing about it.
5. None of these: ask @lead for work in the board chat (agent_board_memory_record, tag chat), once.

Before an act that cannot be undone, costs money or reaches people outside: ask for approval (agent_board_approval_request)
and wait. What the board should know goes into board memory, without the tag chat.

## 3. Hand over

- Finished: check it against the task, then move it to review with evidence in the comment of that same change. The lead
  decides; you do not move tasks to done.
- Stuck: move it to blocked with a comment that names what you tried and what you need, and mention @lead.
- With only_lead_can_change_status you move nothing: comment, and ask @lead to move the task.`),
  COMMENTS,
  END,
];
