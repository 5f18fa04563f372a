import { template } from "../substitute.ts";
import { API, GET } from "./shell.ts";

const START = template(`# HEARTBEAT.md

Do this at every heartbeat, from top to bottom. Operations named here by their intent are found as TOOLS.md says.

## 1. Check in, then read

Any failure ends the turn: no other call, no second try, and after a 5xx nothing is written anywhere. Say in one line what
failed; the next heartbeat starts from the top.`);

const CHECK_IN = `set -e
${GET}
${API}
url="$(get BASE_URL)/api/v1/agent" board=$(get BOARD_ID)
seen=$(api -d '{}' "$url/heartbeat")
health=$(api "$url/healthz")
boards=$(api "$url/boards")
printf '%s\\n' "$health" | jq -c '{agent_id, status}'` as const;

const COMMENTS = template(`## Comments

A comment has three parts, and only says what is new:

    Update: what changed
    Evidence: links, files, commands with their results
    Next: what happens next, and who does it

Mention only those who must answer: a mention wakes an agent. Answer comments of others that ask you something; other
comments need no reply.`);

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

A board whose status is paused rests: answer HEARTBEAT_OK and do nothing else until it is active.

## 2. The rules of the board

As they were when this file was written; what you just read has priority.

- require_approval_for_done ({{ board_rule_require_approval_for_done }}): a task becomes done only with a linked approval that
  was approved after the task last left done.
- require_review_before_done ({{ board_rule_require_review_before_done }}): a task becomes done only from review.
- comment_required_for_review ({{ board_rule_comment_required_for_review }}): a task enters review only with a comment of
  its assignee.
- block_status_changes_with_pending_approval ({{ board_rule_block_status_changes_with_pending_approval }}): a task stays where
  it is while an approval linked to it is pending.
- only_lead_can_change_status ({{ board_rule_only_lead_can_change_status }}): workers cannot move tasks; move them when
  they ask.
- max_agents ({{ board_rule_max_agents }}): how many agents the board may have, you not counted.

## 3. Work, in this order

1. Chat: read what is new (agent_board_memory_discovery, is_chat=true) and answer people first.
2. Review: look at the result of each task in review, not only at its comment. Good: move it to done. Not good: move it to
   inbox with a comment that says what is missing; it returns to the agent that did it.
3. Approvals: act on decisions (agent_board_approval_discovery). Ask where one is due (agent_board_approval_request), with
   the reason, the task and your confidence; before done where the board requires it. A task has at most one pending
   approval.
4. Unblocking: for each task that is blocked or waits, remove the cause, plan around it, or ask the one person who can.
5. Inbox: every task has an assignee whose role fits, or a reason why not. Nobody has several tasks in progress. When work is
   missing on the way to the goal, create the tasks (delegate_work).
6. Staffing: see who is there (agent_roster_discovery). Nudge (agent_coordination) an agent that is due and silent; give the
   tasks of one that is offline to others. Within max_agents create an agent for a role that is missing (agent_management).
7. Delivery status: bring that section of MEMORY.md up to date. When the state changed, tell people in the board chat
   (agent_board_memory_record, tag chat): state, evidence, what you need.`),
  COMMENTS,
  template(`## When to answer HEARTBEAT_OK

Answer exactly HEARTBEAT_OK when check-in and reads went well, nothing waits for you in 1 to 7, and there is nothing to
report. Otherwise answer with what changed and what you need, in at most three lines.`),
];

export const WORKER_HEARTBEAT = [
  START,
  template(`~~~sh
${CHECK_IN}
printf '%s\\n' "$boards" | jq -c '.items[] | {id, name, status, only_lead_can_change_status, comment_required_for_review}'
show='.items[] | [.status, .priority, .due_at // "-", .id, (if .is_blocked then "waits" else "-" end), .title] | @tsv'
mine=$(api "$url/boards/$board/tasks?assigned_agent_id=$(get AGENT_ID)&status=in_progress,inbox,blocked&limit=200")
free=$(api "$url/boards/$board/tasks?status=inbox&unassigned=true&limit=20")
echo "Yours:"; printf '%s\\n' "$mine" | jq -r "$show"
echo "Free:"; printf '%s\\n' "$free" | jq -r "$show"
~~~

A board whose status is paused rests: answer HEARTBEAT_OK and do nothing else until it is active.

## 2. Work, in this order

Do the first of these that applies, one task at a time, and leave tasks that wait for others.

1. Your own work in progress: read its new comments (agent_task_comment_discovery) and continue. Also continue blocked
   work whose cause is gone.
2. Your assigned inbox: the highest priority first, then the earliest due. Move it to in_progress (agent_task_update), then start.
3. A free task that fits your role: claim it by moving it to in_progress. 409 task_already_claimed: another agent was
   faster, choose another task.
4. Help: comment on a colleague's task with something that advances it. Change nothing about it.
5. None of these: ask @lead for work in the board chat (agent_board_memory_record, tag chat), once, not at every heartbeat.

Before an act that cannot be undone, costs money or reaches people outside: ask for approval (agent_board_approval_request)
and wait. What the rest of the board should know goes into board memory, without the tag chat.

## 3. Hand over

- Finished: check it against the task, then move it to review with evidence in the comment of that same change. The lead
  decides; you do not move tasks to done.
- Stuck: move it to blocked with a comment that names what you tried and what you need, and mention @lead.
- With only_lead_can_change_status you move nothing: comment instead, and ask @lead to move the task.`),
  COMMENTS,
  template(`## When to answer HEARTBEAT_OK

Answer exactly HEARTBEAT_OK when check-in and reads went well and there is nothing to report: you had nothing to do, or the
task shows what you did. Otherwise answer in one line what somebody has to do.`),
];
