import type { Endpoint } from "../endpoint.ts";
import { agentStream } from "../routes/agent-stream.ts";
import { approvalStream } from "../routes/approval-stream.ts";
import { changesStream } from "../routes/changes-stream.ts";
import { memoryStreams } from "../routes/memory-streams.ts";
import { runStepStream } from "../routes/run-step-stream.ts";
import { taskCommentStream } from "../routes/task-comment-stream.ts";
import { taskStream } from "../routes/task-stream.ts";

/** The operations of all streams, for a process that serves only streams and loads no other operations. */
export const streamRoutes: Endpoint[] = [
  ...taskStream,
  ...runStepStream,
  ...approvalStream,
  ...memoryStreams,
  ...agentStream,
  ...taskCommentStream,
  ...changesStream,
];
