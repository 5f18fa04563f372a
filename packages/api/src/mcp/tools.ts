import type { Tool } from "./tool.ts";
import { decideApprovalTool, requestApproval } from "./tools/approvals.ts";
import { getBoardTool, readPayload } from "./tools/boards.ts";
import { checkInbox, nextTask } from "./tools/inbox.ts";
import { recall, remember } from "./tools/memory.ts";
import { commentOnTask, createTaskTool, getTaskTool, listTasksTool, releaseTaskTool, updateTaskTool } from "./tools/tasks.ts";

/** All tools. A caller sees the tools for its role, which are at most twelve. */
export const tools: readonly Tool[] = [
  checkInbox,
  nextTask,
  getTaskTool,
  listTasksTool,
  createTaskTool,
  updateTaskTool,
  commentOnTask,
  releaseTaskTool,
  requestApproval,
  decideApprovalTool,
  remember,
  recall,
  getBoardTool,
  readPayload,
];
